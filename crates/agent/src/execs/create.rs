use std::sync::Arc;

use sandpipe_protocol::CreateExecRequest;
use tokio::sync::oneshot;

use super::{
    exec::Exec,
    idempotency::{Creation, IdempotencyKey, KeyReused},
    record::Recording,
    registry::Registry,
    start::{StartError, Started, on_own_thread, start, start_at_once},
};
use crate::{
    blocking::{self, NotRun},
    process::{InvalidLaunch, Launch},
    state_dir::Keep,
    tokens::TokenId,
    walls::NarrowerError,
};

/// The most bytes that wait for a start: an exec takes at most 1 MiB of memory.
const MAX_UNSTARTED_BYTES: usize = 768 * 1024;

/// Why there is no new exec.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    #[error(transparent)]
    Invalid(#[from] InvalidLaunch),
    #[error(transparent)]
    Policy(#[from] NarrowerError),
    #[error("\"policy\": this agent takes none")]
    NoPolicies,
    #[error(
        "the arguments and the environment take {0} bytes, and an exec that is to wait for its start \
         may take {MAX_UNSTARTED_BYTES}: leave \"autostart\" out, or hand the data over by standard input"
    )]
    TooLargeToWait(usize),
    #[error("the agent is stopping and takes no new execs")]
    Stopping,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the agent could not make an id: {0}")]
    Id(getrandom::Error),
    #[error(transparent)]
    KeyReused(#[from] KeyReused),
    #[error(
        "the exec {0} was created with this Idempotency-Key and is gone: it was deleted, or has ended and made room \
         for others (--keep-execs, --keep-for, --spool-total); it is not run again, take a new key for that"
    )]
    Deleted(String),
    #[error("the agent could not write the request down: {0}")]
    Request(#[from] serde_json::Error),
    #[error("the agent failed while it checked the request")]
    Panic,
    #[error("the agent failed while it removed what it had begun: {0}")]
    Remove(#[from] NotRun),
}

/// The exec that a create gives.
#[derive(Debug)]
pub(crate) enum Created {
    New(Arc<Exec>),
    /// It was created before with the same key.
    Before(Arc<Exec>),
}

impl Registry {
    /// Creates an exec and starts it, unless it is to wait. With a key that stands for an exec
    /// already, it returns that one; the keys of each scoped token are its own.
    ///
    /// The caller lets it run to its end.
    pub(crate) async fn create(
        self: &Arc<Self>,
        request: CreateExecRequest,
        key: Option<IdempotencyKey>,
        creator: Option<TokenId>,
    ) -> Result<Created, CreateError> {
        let Some(key) = key else {
            return self.create_new(request, None, creator).await.map(Created::New);
        };
        let key = key.of(creator.as_ref());
        let creation = Creation::new(key, &request)?;
        let claim = self.keys().claim(&creation).await?;
        if let Some(id) = claim.exec() {
            let exec = self.get(id).ok_or_else(|| CreateError::Deleted(id.into()))?;
            return Ok(Created::Before(exec));
        }
        let exec = self.create_new(request, Some(creation.clone()), creator).await?;
        claim.settle(&exec.id);
        Ok(Created::New(exec))
    }

    /// Creates an exec and starts it, unless it is to wait. One that can't be started is not kept.
    async fn create_new(
        self: &Arc<Self>,
        request: CreateExecRequest,
        creation: Option<Creation>,
        creator: Option<TokenId>,
    ) -> Result<Arc<Exec>, CreateError> {
        let autostart = request.autostart.unwrap_or(true);
        let registry = Arc::clone(self);
        // The thread that is to observe the process. It does all of it where there is no need to
        // wait: to change to another takes its time.
        let (answer, added) = oneshot::channel();
        on_own_thread(size_of(&request), move |memory| {
            let exec = match registry.add(request, creation, creator) {
                Ok(exec) => exec,
                Err(error) => return drop(answer.send(Err(error))),
            };
            let started = if autostart { start_at_once(&exec) } else { Ok(None) };
            let (started, observer) = match started {
                Ok(Some(Started::Running(observer))) => (Ok(true), Some(observer)),
                Ok(Some(Started::NothingToObserve)) => (Ok(true), None),
                Ok(None) => (Ok(false), None),
                Err(error) => (Err(error), None),
            };
            drop(memory);
            let _gone = answer.send(Ok((Arc::clone(&exec), started)));
            if let Some(observer) = observer {
                observer.observe(&exec);
            }
        })?;
        let (exec, started) = added.await.unwrap_or(Err(CreateError::Panic))?;
        let started = match started {
            Ok(false) if autostart => start(&exec).await,
            started => started.map(drop),
        };
        if let Err(error) = started {
            self.remove(&exec);
            exec.spool().close();
            blocking::remove(move || exec.remove_directory()).await?;
            return Err(error.into());
        }
        Ok(exec)
    }

    /// Adds an exec that is not started yet. It may block.
    fn add(
        self: &Arc<Self>,
        request: CreateExecRequest,
        creation: Option<Creation>,
        creator: Option<TokenId>,
    ) -> Result<Arc<Exec>, CreateError> {
        let autostart = request.autostart.unwrap_or(true);
        let narrower = match request.policy.as_deref() {
            Some(policy) => Some(self.policies().ok_or(CreateError::NoPolicies)?.narrower(policy)?),
            None => None,
        };
        let spawn_defaults = narrower.as_deref().unwrap_or_else(|| self.spawn_defaults());
        let launch = Launch::prepare(request, spawn_defaults)?;
        if !autostart && launch.size() > MAX_UNSTARTED_BYTES {
            return Err(CreateError::TooLargeToWait(launch.size()));
        }
        let id = new_id().map_err(CreateError::Id)?;
        let recording = (self.keep() == Keep::State).then_some(Recording { creation });
        let exec = self
            .insert(|number| {
                Exec::new(id, number, launch, recording, self.context()).created_by(creator)
            })
            .ok_or(CreateError::Stopping)?;
        // Before it is started: an agent that dies at any later moment has it written down.
        exec.write_record();
        Ok(exec)
    }
}

/// How many bytes a request's arguments and environment take, more or less.
fn size_of(request: &CreateExecRequest) -> usize {
    let args = request.args.iter().map(String::len);
    let env = request.env.iter().flatten().map(|(name, value)| name.len() + value.len());
    request.command.len() + args.chain(env).sum::<usize>()
}

/// 128 random bits in hexadecimal: also the name of a directory.
fn new_id() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}
