use sandpipe_protocol::ExecStdout;

use super::script::Streams;
use crate::execs::OutputReader;
use crate::{Agent, ExecId};

/// The shell of a session, as a run uses it.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) agent: Agent,
    pub(super) id: ExecId,
    pub(super) pid: u32,
    /// Whom it runs as, in the words of the create.
    pub(super) user: Option<String>,
    /// Not connected between two runs: an idle session holds no connection.
    pub(super) reader: OutputReader,
    /// What was read behind the end of the last run.
    pub(super) unread: Vec<ExecStdout>,
    /// Whether it can open its streams anew.
    pub(super) streams: Streams,
    /// `$?`.
    pub(super) last_exit_code: i32,
}

/// What there is of a session.
#[derive(Debug)]
pub(super) enum State {
    Ready(Box<Shell>),
    /// A run has it.
    InUse,
    /// It can't be used any more; this is why.
    Over(String),
}
