//! What is in a directory.

use sandpipe_protocol::{DirectoryListResponse, FileInfo};

use super::{FilePath, check_files, no_bytes};
use crate::http::Request;
use crate::{AbortSignal, Agent, Call, Feature, Operation};

/// The deepest that a list goes.
pub const MAX_DEPTH: u32 = 64;

/// How to list a directory.
pub struct ListOptions {
    /// How deep: 1 for what is in the directory itself, [`MAX_DEPTH`] at most.
    pub depth: u32,
    /// Aborted: the call ends.
    pub signal: Option<AbortSignal>,
}

/// What is in a directory, by name, and what is in the directories in it. Symbolic links are not followed.
pub fn list(agent: &Agent, path: &FilePath, options: ListOptions) -> Call<Vec<FileInfo>> {
    let (agent, path) = (agent.clone(), path.url("/api/v1/directories"));
    let ListOptions { depth, signal } = options;
    AbortSignal::ending(
        signal,
        Box::pin(async move {
            check_files(&agent).await?;
            let is_deep = depth > 1;
            if is_deep && !agent.offers(Feature::FilesRaw).await? {
                return Err(no_bytes("`options.depth`"));
            }
            let path = if is_deep { format!("{path}?depth={depth}") } else { path };
            let request = Request::get(Operation::ListDirectory, path);
            let list: DirectoryListResponse = agent.http.ask(request).await?;
            Ok(list.files)
        }),
    )
}
