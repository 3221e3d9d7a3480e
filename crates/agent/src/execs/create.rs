use std::sync::Arc;

use sandpipe_protocol::{CreateExecRequest, ExecItem};
use tokio::task::spawn_blocking;

use super::{
    exec::Exec,
    registry::Registry,
    start::{StartError, start},
};
use crate::process::{InvalidLaunch, Launch};

/// Why there is no new exec.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    #[error(transparent)]
    Invalid(#[from] InvalidLaunch),
    #[error("the agent is stopping and takes no new execs")]
    Stopping,
    #[error(transparent)]
    Start(#[from] StartError),
    #[error("the agent could not make an id: {0}")]
    Id(getrandom::Error),
    #[error("the agent failed while it checked the request: {0}")]
    Check(#[from] tokio::task::JoinError),
}

impl Registry {
    /// Creates an exec and starts it, unless it is to wait. One that can't be started is not kept.
    pub(crate) async fn create(
        self: &Arc<Self>,
        request: CreateExecRequest,
    ) -> Result<ExecItem, CreateError> {
        let autostart = request.autostart.unwrap_or(true);
        let registry = Arc::clone(self);
        let launch =
            spawn_blocking(move || Launch::prepare(request, registry.surroundings())).await??;
        let id = new_id().map_err(CreateError::Id)?;
        let exec = self
            .insert(|number| {
                Exec::new(id, number, launch, self.spools(), self.spool_limit(), self.changes())
            })
            .ok_or(CreateError::Stopping)?;
        if autostart && let Err(error) = start(&exec).await {
            self.remove(&exec);
            exec.spool().close();
            return Err(error.into());
        }
        Ok(exec.item())
    }
}

/// 128 random bits in hexadecimal: also the name of a directory.
fn new_id() -> Result<String, getrandom::Error> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)?;
    Ok(format!("{:032x}", u128::from_be_bytes(random)))
}
