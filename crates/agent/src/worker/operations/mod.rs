//! What a worker can be asked for, one operation a file.

mod append;
mod commit;
mod connect;
mod copy;
mod create;
mod discard;
mod list;
mod list_ports;
mod make_directory;
mod r#move;
mod open;
mod pack;
mod remove_directory;
mod remove_file;
mod stat;
mod unpack;
mod watch;

pub(crate) use append::Append;
pub(crate) use commit::{Commit, Committed};
pub(crate) use connect::Connect;
pub(crate) use copy::Copy;
pub(crate) use create::Create;
pub(crate) use discard::Discard;
pub(crate) use list::{List, ListBatch, ListEntry};
pub(crate) use list_ports::{FindOwners, ListPorts, WatchPorts};
pub(crate) use make_directory::MakeDirectory;
pub(crate) use r#move::Move;
pub(crate) use open::Open;
pub(crate) use pack::Pack;
pub(crate) use remove_directory::RemoveDirectory;
pub(crate) use remove_file::RemoveFile;
pub(crate) use stat::Stat;
pub(crate) use unpack::{Unpack, Unpacked};
pub(crate) use watch::{Watch, WatchReport};
