//! The guardian: a process of the agent's own that outlives it by a moment, and kills what the agent
//! leaves behind when it is killed itself.
//!
//! It reads a pipe. Each command writes its own process group to it before it is executed, so none is
//! ever missing, and the agent writes which groups are gone. The end of the pipe means that the agent
//! is dead, and that every command which was just being started is executed or dead: those hold the
//! pipe open until then.

mod messages;
mod registration;
mod start;
mod watch;

pub(super) use messages::{GroupId, Message, report};
pub(super) use registration::Registration;
pub(super) use start::Guardian;
pub use watch::{guard, is_guardian};
