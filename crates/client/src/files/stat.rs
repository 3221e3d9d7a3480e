//! What there is to know of a file.

use sandpipe_protocol::FileInfo;

use super::{FilePath, ask};
use crate::http::Request;
use crate::{Agent, Call, Operation};

/// What there is to know of a file, a directory or something else.
pub fn stat(agent: &Agent, path: &FilePath) -> Call<FileInfo> {
    ask(agent, Request::get(Operation::StatFile, path.url("/api/v1/file_stat")))
}
