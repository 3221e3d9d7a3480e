//! Execs: the commands that were asked for, and what has become of them.

mod create;
mod delete;
mod description;
mod directory;
mod exec;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod idempotency;
mod input;
mod record;
mod recover;
mod registry;
mod run;
mod signal;
mod start;
mod stop;

pub(crate) use create::{CreateError, Created};
pub(crate) use delete::DeleteError;
pub(crate) use exec::Exec;
pub(crate) use idempotency::IdempotencyKey;
pub(crate) use input::{InputError, Queued};
pub(crate) use registry::Registry;
pub(crate) use signal::SignalError;
pub(crate) use start::{StartError, start};
pub(crate) use stop::Unstoppable;
