//! Copying files and directories.

use sandpipe_protocol::{FileAction, FileActionRequest};

use super::Target;
use crate::http::Request;
use crate::{Agent, Call, Error, Operation};

const OPERATION: Operation = Operation::CopyFile;

/// Copies a file, in place of one that is there; where `is_recursive`, also a directory, with all that is in it, to where
/// nothing is.
pub fn copy(agent: &Agent, from: &Target, to: String, is_recursive: bool) -> Call<()> {
    let (agent, from) = (agent.clone(), from.clone());
    Box::pin(async move {
        from.check(&agent).await?;
        let recursive = is_recursive.then_some(true);
        let action = FileActionRequest { action: FileAction::Copy, destination: to, recursive };
        let request = Request::patch(OPERATION, from.url("/api/v1/files", &[]), &action);
        let mut may_be_done = false;
        let attempt = async || {
            let copied = match agent.http.open(&request).await {
                Ok(mut answer) => answer.read_to_end().await.map(drop),
                Err(error) => Err(error),
            };
            copied.map_err(|error| {
                if may_be_done && error.status_of_agent() == Some(409) {
                    // A directory is there that an attempt before may have copied, or a part of it.
                    let (operation, path) = (OPERATION, from.display());
                    return Error::OutcomeUnknown { operation, path, cause: error }.into();
                }
                may_be_done |= error.is_ambiguous();
                error
            })
        };
        agent.http.repeat(OPERATION, |_| true, attempt).await
    })
}
