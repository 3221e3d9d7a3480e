//! The handlers of files and directories, one operation a file.

mod read;
mod responses;
mod routes;
mod stat;
mod target;

pub(super) use routes::routes;
