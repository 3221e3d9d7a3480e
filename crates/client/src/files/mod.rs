//! Files and directories on the agent's machine. One operation a file.
//!
//! A [`FileReader`] brings the bytes of a file over as many connections as it takes, and never those of two; [`write`]
//! sends what a source gives piece by piece, so that the file is there whole or not at all. What an agent without the
//! extension `files-raw` can do is done by the base interface.

mod base64;
mod copy;
mod exists;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod list;
mod mkdir;
mod move_file;
mod path;
mod read;
mod read_base;
mod reader;
mod remove;
mod stat;
mod target;
mod tree;
mod upload;
mod watcher;
mod write;

use sandpipe_protocol::json::FromJson;

use self::target::no_bytes;
use crate::http::Request;
use crate::{Agent, Call};

pub use copy::copy;
pub use exists::exists;
pub use list::{ListOptions, MAX_DEPTH, list};
pub use mkdir::mkdir;
pub use move_file::move_file;
pub use path::FilePath;
pub use read::{read_bytes, read_text};
pub use reader::{FileReader, Part};
pub use remove::remove;
pub use stat::stat;
pub use target::Target;
pub use tree::{TreeReader, write_tree};
pub use watcher::{FileChange, FileChangeType, FileWatcher, WatchOptions};
pub use write::{Create, ProgressListener, WriteArguments, write};

/// Makes a request about a file of an agent that has files; gives what its answer says.
fn ask<T: FromJson + 'static>(agent: &Agent, target: &Target, request: Request) -> Call<T> {
    let (agent, target) = (agent.clone(), target.clone());
    Box::pin(async move {
        target.check(&agent).await?;
        agent.http.ask(request).await
    })
}
