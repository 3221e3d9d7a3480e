//! Execs: the commands that were asked for, and what has become of them.

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
