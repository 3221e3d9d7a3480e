//! What there is to know of a file.

use sandpipe_protocol::FileInfo;

use super::{Target, ask};
use crate::http::Request;
use crate::{Agent, Call, Operation};

/// What there is to know of a file, a directory or something else.
pub fn stat(agent: &Agent, target: &Target) -> Call<FileInfo> {
    ask(agent, target, Request::get(Operation::StatFile, target.url("/api/v1/file_stat", &[])))
}
