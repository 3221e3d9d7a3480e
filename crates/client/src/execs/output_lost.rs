//! What is known of a command although some of its output is lost.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use super::get::get_once;
use crate::output::exit_code_of;
use crate::{Agent, Error, ExecId};

/// Adds the exit code to an error of lost output, where the command has ended, and why the agent
/// could not keep the output. The agent is asked once.
pub(super) fn with_circumstances<'a>(
    mut error: Box<Error>,
    agent: &'a Agent,
    id: &'a ExecId,
) -> LocalBoxFuture<'a, Box<Error>> {
    // In a box: it would be compiled into each of its callers.
    async move {
        if let Error::OutputLost { exit_code, reason, .. } = &mut *error
            && let Ok(exec) = get_once(agent, id).await
        {
            *exit_code = exit_code_of(&exec);
            *reason = exec.output_error;
        }
        error
    }
    .boxed_local()
}
