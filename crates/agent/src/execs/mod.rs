//! Execs: the commands that were asked for, and what has become of them.

mod create;
mod delete;
mod exec;
mod input;
mod registry;
mod run;
mod start;
mod stop;

pub(crate) use create::CreateError;
pub(crate) use delete::DeleteError;
pub(crate) use exec::Exec;
pub(crate) use input::InputError;
pub(crate) use registry::Registry;
pub(crate) use start::{StartError, start};
pub(crate) use stop::Unstoppable;
