//! Writing a file in pieces: an upload, which takes the file's place when it is whole.

use std::rc::Rc;

use futures_channel::oneshot;
use sandpipe_protocol::{FileInfo, UploadProgress};
use uuid::Builder;

use super::Target;
use crate::http::{Request, read_json};
use crate::{Agent, Error, Operation, Result};

const OPERATION: Operation = Operation::WriteFile;

/// An upload. Unless it is completed it is given up when it is dropped: nothing of it is left then.
pub(super) struct Upload {
    agent: Agent,
    target: Target,
    id: String,
    /// What all of its requests have beside that.
    options: UploadOptions,
    /// How much has arrived.
    pub(super) offset: u64,
    state: State,
    /// Dropped when the agent has nothing of it any more, or was told to have nothing.
    gone: Option<oneshot::Sender<()>>,
}

#[derive(PartialEq, Eq)]
enum State {
    /// There is nothing of it.
    Unsent,
    /// There may be something of it.
    Sent,
    Completed,
}

/// What the requests of an upload have beside its pieces.
#[derive(Clone, Copy, Default)]
pub(super) struct UploadOptions {
    /// The permission bits of a new file.
    pub(super) mode: Option<u32>,
    /// It goes behind what is there.
    pub(super) appends: bool,
    /// There must be no file yet.
    pub(super) is_new: bool,
}

impl UploadOptions {
    /// The request that writes these bytes, with more parameters of a query.
    pub(super) fn request(
        self,
        target: &Target,
        parameters: &[(&str, &str)],
        bytes: Rc<[u8]>,
    ) -> Request {
        let mode = self.mode.map(|mode| format!("{mode:04o}"));
        let mode = mode.as_deref().map(|mode| ("mode", mode));
        let append = self.appends.then_some(("append", "true"));
        let parameters = parameters.iter().copied().chain(mode).chain(append);
        let url = target.url("/api/v1/files", &parameters.collect::<Vec<_>>());
        let mut request = Request::put_bytes(OPERATION, url, bytes);
        if self.is_new {
            // Only where there is none (RFC 9110, 13.1.2).
            request.headers.push(("if-none-match", "*".to_owned()));
        }
        request
    }
}

impl Upload {
    /// One of which nothing has been sent.
    pub(super) fn new(
        agent: &Agent,
        target: &Target,
        options: UploadOptions,
        gone: oneshot::Sender<()>,
    ) -> Self {
        let random = agent.http.host().random_bytes();
        let id = Builder::from_random_bytes(random).into_uuid().to_string();
        let (agent, target) = (agent.clone(), target.clone());
        Self { agent, target, id, options, offset: 0, state: State::Unsent, gone: Some(gone) }
    }

    /// Sends the next piece, as often as it takes: a piece that has arrived is overwritten by the same bytes.
    pub(super) async fn send(&mut self, piece: Vec<u8>) -> Result<()> {
        let end = self.offset + piece.len() as u64;
        let answer = self.put(piece, &[]).await?;
        let UploadProgress { offset } = read_json(OPERATION, &answer)?;
        if offset != end {
            let problem = format!("the upload has {offset} bytes where {end} were sent");
            let excerpt = String::new();
            return Err(Error::Protocol { operation: OPERATION, problem, excerpt }.into());
        }
        self.offset = end;
        Ok(())
    }

    /// Sends the last piece: the file takes its place.
    ///
    /// # Errors
    /// [`Error::OutcomeUnknown`] where it may have been appended or made new, and can't be asked again.
    pub(super) async fn complete(&mut self, piece: Vec<u8>) -> Result<FileInfo> {
        let length = piece.len() as u64;
        let answer = self.put(piece, &[("complete", "true")]).await?;
        self.state = State::Completed;
        self.offset += length;
        read_json(OPERATION, &answer)
    }

    async fn put(&mut self, piece: Vec<u8>, completes: &[(&str, &str)]) -> Result<Vec<u8>> {
        self.state = State::Sent;
        let offset = self.offset.to_string();
        let parameters = [&[("upload", &*self.id), ("offset", &offset)], completes].concat();
        let request = self.options.request(&self.target, &parameters, piece.into());
        let mut may_be_done = false;
        let attempt = async || {
            let answer = match self.agent.http.open(&request).await {
                Ok(mut answer) => answer.read_to_end().await,
                Err(error) => Err(error),
            };
            answer.inspect_err(|error| may_be_done |= error.is_ambiguous())
        };
        let answer = self.agent.http.repeat(OPERATION, |_| true, attempt).await;
        answer.map_err(|error| {
            // To write the same bytes again does no harm; to append them again does.
            let matters = self.options.appends || self.options.is_new;
            // An agent that was started again has forgotten the upload. Of nothing it can't know that.
            let is_forgotten = match error.status_of_agent() {
                Some(409) => true,
                Some(412) => self.offset == 0,
                _ => false,
            };
            if completes.is_empty() || !matters || !may_be_done {
                return error;
            }
            if error.is_ambiguous() || is_forgotten || error.is_closed() {
                let path = self.target.display();
                return Error::OutcomeUnknown { operation: OPERATION, path, cause: error }.into();
            }
            error
        })
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.state != State::Sent {
            return;
        }
        // Also where all else has been closed.
        let agent = self.agent.detached();
        let path = self.target.url("/api/v1/files", &[("upload", &self.id)]);
        let giving_up = agent.http.send(Request::delete(OPERATION, path), None);
        // An upload that nobody gives up the agent gives up itself, after some minutes.
        let gone = self.gone.take();
        agent.http.host().spawn(Box::pin(async move {
            drop(giving_up.await);
            drop(gone);
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::FilePath;

    #[test]
    fn a_request_says_what_is_written_and_how() {
        let target = FilePath::parse("/a b").unwrap().into();
        let url =
            |options: UploadOptions, more: &[_]| options.request(&target, more, Rc::new([])).path;
        assert_eq!(url(UploadOptions::default(), &[]), "/api/v1/files/%2Fa%20b");
        let options = UploadOptions { mode: Some(0o644), appends: true, is_new: true };
        assert_eq!(
            url(options, &[("upload", "1"), ("offset", "0")]),
            "/api/v1/files/%2Fa%20b?upload=1&offset=0&mode=0644&append=true"
        );
        let request = options.request(&target, &[], Rc::new([]));
        assert_eq!(request.headers, [("if-none-match", "*".to_owned())]);
    }
}
