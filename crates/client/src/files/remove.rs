//! Removing files and directories.

use sandpipe_protocol::FileType;

use super::{ListOptions, Target, list, stat};
use crate::http::Request;
use crate::{Agent, Call, Error, Feature, Operation, Result};

const OPERATION: Operation = Operation::RemoveFile;

/// Removes a file, a link, or a directory: with all that is in it where `is_recursive`, else an empty one.
pub fn remove(agent: &Agent, target: &Target, is_recursive: bool) -> Call<()> {
    let (agent, target) = (agent.clone(), target.clone());
    Box::pin(async move {
        target.check(&agent).await?;
        let refusal = match delete(&agent, target.url("/api/v1/files", &[])).await {
            Err(error) if may_be_directory(&error) => error,
            removed => return removed,
        };
        // Agents differ in how they refuse to remove a directory as a file.
        let info = stat(&agent, &target).await?;
        if !info.is_dir || info.kind.is_some_and(|kind| kind != FileType::Directory) {
            return Err(refusal);
        }
        let directory = |parameters| target.url("/api/v1/directories", parameters);
        if agent.offers(Feature::FilesRaw).await? {
            let recursive = if is_recursive { "true" } else { "false" };
            return delete(&agent, directory(&[("recursive", recursive)])).await;
        }
        // The base removes it with all that is in it.
        if !is_recursive {
            let entries = list(&agent, &target, ListOptions { depth: 1, signal: None }).await?;
            if !entries.is_empty() {
                return Err(not_empty(&target));
            }
        }
        delete(&agent, directory(&[])).await
    })
}

/// Deletes, at most once: what is gone where an attempt may have removed it was removed by that.
async fn delete(agent: &Agent, path: String) -> Result<()> {
    agent.http.send(Request::delete(OPERATION, path), Some(404)).await.map(drop)
}

fn may_be_directory(error: &Error) -> bool {
    matches!(error.status_of_agent(), Some(400 | 403 | 405 | 409 | 500))
}

fn not_empty(target: &Target) -> Box<Error> {
    Box::new(Error::Http {
        operation: OPERATION,
        status: 409,
        message: Some(format!("{:?} is not empty", target.display())),
        body: String::new(),
        retry_after_ms: None,
        max_delay_ms: None,
        not_run: false,
    })
}
