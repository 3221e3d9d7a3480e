//! Execs: the commands that were asked for, and what has become of them. One operation a file.
//!
//! An [`Exec`] is one command: its description, its state, its [`Spool`](crate::output::Spool) and its directory on disk. The [`Registry`]
//! has all of them, by id and in the order of creation. `create.rs` adds one, once for each [`IdempotencyKey`]; `start.rs` starts its
//! process on a thread of its own, on which `observe.rs` then brings the output to the spool, and at the end the exit code.
//! `stdin.rs`, `signal.rs`, `stop.rs` and `delete.rs` are what clients do to it meanwhile.
//!
//! Each exec tells the `Bookkeeping` what changes: `changes.rs` keeps it for clients that follow the list, `ended.rs` decides which
//! execs have to go, and `retain.rs` removes them. What an agent that starts later has to know is an `ExecRecord` in the exec's
//! directory (`write_record.rs`) and a line of the index of ended execs (`index_file.rs`); `recover.rs` reads both.

mod bookkeeping;
mod changes;
mod context;
mod create;
mod delete;
mod description;
mod directory;
mod ended;
mod exec;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod idempotency;
mod index_file;
mod index_line;
mod input;
mod item;
mod list;
mod observe;
mod record;
mod recover;
mod registry;
mod retain;
mod signal;
mod start;
mod stdin;
mod stop;
mod stop_reason;
mod time;
mod write_record;

pub(crate) use create::{CreateError, Created};
pub(crate) use delete::DeleteError;
pub(crate) use ended::RetentionLimits;
pub(crate) use exec::Exec;
pub(crate) use idempotency::IdempotencyKey;
pub(crate) use list::{Cursor, Update};
pub(crate) use registry::Registry;
pub(crate) use signal::SignalError;
pub(crate) use start::{StartError, start};
pub(crate) use stdin::{InputError, Queued};
pub(crate) use stop::StopError;
