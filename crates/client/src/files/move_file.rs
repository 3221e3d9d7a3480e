//! Moving files and directories.

use sandpipe_protocol::{FileAction, FileActionRequest};

use super::{FilePath, Target, stat};
use crate::http::Request;
use crate::{Agent, Call, Error, Operation, Result};

const OPERATION: Operation = Operation::MoveFile;

/// Gives a file or a directory another path; a file that is there is replaced.
///
/// # Errors
/// [`Error::OutcomeUnknown`] where no answer came, and what is there does not tell whether it was done.
pub fn move_file(agent: &Agent, from: &Target, to: FilePath, destination: String) -> Call<()> {
    let (agent, from, to) = (agent.clone(), from.clone(), from.beside(to));
    Box::pin(async move {
        from.check(&agent).await?;
        let action = FileActionRequest { action: FileAction::Move, destination, recursive: None };
        let request = Request::patch(OPERATION, from.url("/api/v1/files", &[]), &action);
        let unknown = |cause| -> Box<Error> {
            Error::OutcomeUnknown { operation: OPERATION, path: from.display(), cause }.into()
        };
        // Why it is not known whether an attempt has moved it.
        let mut ambiguous = None;
        let attempt = async || {
            if let Some(error) = ambiguous.take() {
                match was_moved(&agent, &from, &to).await {
                    Ok(Some(true)) => return Ok(()),
                    Ok(Some(false)) => {}
                    Ok(None) | Err(_) => return Err(unknown(error)),
                }
            }
            let moved = match agent.http.open(&request).await {
                Ok(mut answer) => answer.read_to_end().await.map(drop),
                Err(error) => Err(error),
            };
            moved.inspect_err(|error| ambiguous = error.is_ambiguous().then(|| error.clone()))
        };
        match agent.http.repeat(OPERATION, |_| true, attempt).await {
            Err(error) if error.is_ambiguous() => match was_moved(&agent, &from, &to).await {
                Ok(Some(true)) => Ok(()),
                _ => Err(unknown(error)),
            },
            outcome => outcome,
        }
    })
}

/// Whether an attempt whose answer was lost has moved something; None where that can't be told.
async fn was_moved(agent: &Agent, from: &Target, to: &Target) -> Result<Option<bool>> {
    let is_there = async |path| match stat(agent, path).await {
        Ok(_) => Ok(true),
        Err(error) if error.status_of_agent() == Some(404) => Ok(false),
        Err(error) => Err(error),
    };
    if is_there(from).await? {
        return Ok(Some(false));
    }
    Ok(is_there(to).await?.then_some(true))
}
