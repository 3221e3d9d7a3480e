//! Whole directories, as tar streams, which the host packs and unpacks.

use super::Target;
use super::mkdir::Done;
use super::target::{check_files, no_bytes};
use crate::host::{Method, RequestBody, TarSource};
use crate::http::{Request, ResponseBody, TAR, read_json};
use crate::{AbortSignal, Agent, Call, Feature, Operation, Result};

const PREFIX: &str = "/api/v1/trees";

async fn check_trees(agent: &Agent) -> Result<()> {
    check_files(agent).await?;
    if agent.offers(Feature::FilesRaw).await? { Ok(()) } else { Err(no_bytes("a tree of files")) }
}

/// Has what a tar stream holds unpacked into a directory, which is made where it is missing. Where a connection breaks all is
/// sent again: each file is written whole, and takes the same place.
pub fn write_tree(
    agent: &Agent,
    target: &Target,
    source: TarSource,
    signal: Option<AbortSignal>,
) -> Call<()> {
    const OPERATION: Operation = Operation::WriteTree;
    let agent = agent.clone();
    let request = Request {
        method: Method::Put,
        body: Some(RequestBody::Tar(source)),
        // It is answered when all of it has been written.
        may_wait: true,
        ..Request::get(OPERATION, target.url(PREFIX, &[]))
    };
    let writing = async move {
        check_trees(&agent).await?;
        let answer = agent.http.send(request, None).await?.unwrap_or_default();
        let Done = read_json(OPERATION, &answer)?;
        Ok(())
    };
    AbortSignal::ending(signal, Box::pin(writing))
}

/// Reads a directory, or a file, as a tar stream. Where a connection breaks it is read from the beginning again.
pub struct TreeReader {
    agent: Agent,
    request: Request,
    state: State,
    /// Whether something of the stream was given.
    has_begun: bool,
    /// How many connections have broken.
    failures: u32,
}

enum State {
    Disconnected,
    Open(Box<ResponseBody>),
    Ended,
}

impl TreeReader {
    /// A reader of what is there, without what one of the patterns fits. It connects with the first read.
    pub fn new(agent: Agent, target: &Target, exclude: &[String]) -> Self {
        let parameters: Vec<_> = exclude.iter().map(|one| ("exclude", one.as_str())).collect();
        let url = target.url(PREFIX, &parameters);
        let request = Request { accept: TAR, ..Request::get(Operation::ReadTree, url) };
        Self { agent, request, state: State::Disconnected, has_begun: false, failures: 0 }
    }

    /// Aborted: the reading ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }

    /// Gives the next bytes to `take`; false at the end. No bytes say that what comes next is the stream's beginning again:
    /// what was given before is not part of it.
    ///
    /// # Errors
    /// Those of `take`, among others.
    pub async fn read_into(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        loop {
            let error = match &mut self.state {
                State::Ended => return Ok(false),
                State::Disconnected => match self.connect().await {
                    Ok(body) => {
                        self.state = State::Open(Box::new(body));
                        if std::mem::take(&mut self.has_begun) {
                            take(&[])?;
                            return Ok(true);
                        }
                        continue;
                    }
                    Err(error) => error,
                },
                State::Open(body) => match body.read_unless_idle().await {
                    Ok(Ok(Some([]))) => continue,
                    Ok(Ok(Some(chunk))) => {
                        self.has_begun = true;
                        take(chunk)?;
                        return Ok(true);
                    }
                    Ok(Ok(None)) => {
                        self.state = State::Ended;
                        return Ok(false);
                    }
                    Ok(Err(error)) => error,
                    Err(_idle) => body.cut_off("nothing came for 45 s"),
                },
            };
            self.state = State::Disconnected;
            self.failures += 1;
            self.agent.http.pause_or_fail(Operation::ReadTree, self.failures, error).await?;
        }
    }

    async fn connect(&self) -> Result<ResponseBody> {
        check_trees(&self.agent).await?;
        self.agent.http.open(&self.request).await
    }
}
