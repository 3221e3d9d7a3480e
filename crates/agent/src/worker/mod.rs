//! Workers: processes in the box that open files with the rights of a command, and hand descriptors to the agent.
//!
//! ```text
//! sandpipe-agent            HTTP; it reads and writes the descriptors that it gets, and opens no path of a client's itself
//!    └ box                  starts a worker as it starts any command: same walls, same change of the user
//!        └ worker           a copy of the box, one for each user that is asked for; no secrets, nothing inherited, no environment
//! ```
//!
//! A path that a client names means to a worker what it means to a command of that user: `/tmp` is the box's, what the policy hides is
//! hidden. The bytes of a file don't go through it: it opens, the agent reads or writes, and has the worker put what was written in its
//! place. Only trees are packed and unpacked here, file by file.
//!
//! **A conversation.** The agent makes a pair of sockets for each operation, hands the worker one of them over the worker's standard
//! input, and sends a [`Request`](protocol::Request) over the other. The worker serves each conversation on a thread of its own, with one
//! answer as a rule, `Result<Answer, Failure>`; descriptors come with it. So no operation waits for another, one that has much to say
//! is held up by who reads it and by nobody else, and an end is the end of a socket. A worker keeps nothing between two conversations.
//!
//! **To add an operation**: a file in `operations/` with a type that says what is asked for and has the trait [`Operation`]; a variant of
//! [`Request`](protocol::Request) with it in `protocol.rs`; a line in `server.rs`. The agent calls it by `Workers::ask`, or, where it has
//! more to say than one answer, by `Workers::open`.
//!
//! **Ends.** A worker ends when its standard input does: the agent is gone, or has had nothing for it to do for a while. What takes a few
//! system calls and would leave something behind is finished first (`unfinished.rs`); the box gives it that time. Where it dies in
//! the middle of it, who waits for an answer gets an error, and the next operation has another one started. The box kills one that has
//! been stopped for 5 seconds, as by a command.

mod beneath;
mod client;
mod copy_tree;
mod failure;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod metadata;
mod named_path;
mod operation;
mod operations;
mod path_bytes;
mod peer;
mod place;
mod protocol;
mod remove_tree;
mod server;
mod tar;
mod temporary;
mod unfinished;

pub(crate) use client::{Conversation, WorkerError, Workers};
pub(crate) use failure::{Failure, FailureKind};
pub(crate) use metadata::{Attributes, Kind, Metadata, Time};
pub(crate) use named_path::NamedPath;
pub(crate) use operations::{
    Append, Commit, Committed, Connect, Copy, Create, Discard, FindOwners, List, ListBatch,
    ListEntry, ListPorts, MakeDirectory, Move, Open, Pack, RemoveDirectory, RemoveFile, Stat,
    Unpack, Unpacked, Watch, WatchPorts, WatchReport,
};
pub(crate) use server::serve;
pub(crate) use temporary::{Temporary, random_name};
