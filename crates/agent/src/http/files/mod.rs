//! The handlers of files and directories, one operation a file.

mod action;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod list_directory;
mod make_directory;
mod put;
mod range;
mod raw;
mod read;
mod remove;
mod remove_directory;
mod responses;
mod routes;
mod stat;
mod target;
mod trees;
mod upload;
mod watch;
mod write;
mod written;

pub(super) use routes::routes;
