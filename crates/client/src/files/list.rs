//! What is in a directory.

use sandpipe_protocol::{DirectoryListResponse, FileInfo};

use super::{Target, no_bytes};
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
pub fn list(agent: &Agent, target: &Target, options: ListOptions) -> Call<Vec<FileInfo>> {
    let (agent, target) = (agent.clone(), target.clone());
    let ListOptions { depth, signal } = options;
    AbortSignal::ending(
        signal,
        Box::pin(async move {
            target.check(&agent).await?;
            let is_deep = depth > 1;
            if is_deep && !agent.offers(Feature::FilesRaw).await? {
                return Err(no_bytes("`options.depth`"));
            }
            let depth = depth.to_string();
            let parameters = [("depth", &*depth)];
            let parameters = if is_deep { &parameters[..] } else { &[] };
            let path = target.url("/api/v1/directories", parameters);
            let request = Request::get(Operation::ListDirectory, path);
            let list: DirectoryListResponse = agent.http.ask(request).await?;
            Ok(list.files)
        }),
    )
}
