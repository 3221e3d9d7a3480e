//! Sessions, and what they keep.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::future::Shared;
use sandpipe_protocol::ExecStdout;

use super::fifo_lock::FifoLock;
use super::script::Streams;
use crate::execs::OutputReader;
use crate::{Agent, Call, Error, ExecId, HostOutput, Result};

/// The client of an agent's sessions.
#[derive(Clone)]
pub struct Sessions {
    pub(super) agent: Agent,
    /// Those that were created and not closed.
    pub(super) open: Rc<RefCell<Vec<Session>>>,
}

impl Sessions {
    /// The client of an agent's sessions. Nothing is asked yet.
    pub fn new(agent: Agent) -> Self {
        Self { agent, open: Rc::default() }
    }
}

/// A shell that remembers: it keeps its directory, variables and functions from run to run.
#[derive(Clone)]
pub struct Session(pub(super) Rc<Inner>);

pub(super) struct Inner {
    pub(super) id: ExecId,
    /// What closing the session closes.
    pub(super) agent: Agent,
    /// That of the sandbox.
    pub(super) sandbox_agent: Agent,
    pub(super) lock: FifoLock,
    pub(super) state: RefCell<State>,
    /// The close that is under way or done, for all who ask for it.
    pub(super) closing: RefCell<Option<Shared<Call<()>>>>,
    pub(super) siblings: Rc<RefCell<Vec<Session>>>,
}

impl Session {
    /// The shell, for one run.
    pub(super) fn borrow_shell(&self) -> Result<Box<Shell>> {
        if self.0.sandbox_agent.http.is_closed() {
            return Err(Error::Closed.into());
        }
        let mut state = self.0.state.borrow_mut();
        match std::mem::replace(&mut *state, State::InUse) {
            State::Ready(shell) => Ok(shell),
            State::InUse => Err(self.over("its shell was not given back")),
            State::Over(reason) => {
                let error = self.over(&reason);
                *state = State::Over(reason);
                Err(error)
            }
        }
    }

    pub(super) fn return_shell(&self, new: State) {
        let mut state = self.0.state.borrow_mut();
        if matches!(*state, State::InUse) {
            *state = new;
        }
    }

    pub(super) fn end(&self, reason: &str) {
        *self.0.state.borrow_mut() = State::Over(reason.to_owned());
    }

    pub(super) fn over(&self, reason: &str) -> Box<Error> {
        session_ended(&self.0.id, reason)
    }
}

/// The error of a session that can't be used any more.
pub(super) fn session_ended(id: &ExecId, reason: &str) -> Box<Error> {
    Box::new(Error::Session {
        exec_id: id.as_str().to_owned(),
        reason: format!("this session is over: {reason}"),
        output: HostOutput::default(),
    })
}

/// The shell of a session, as a run uses it.
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
pub(super) enum State {
    Ready(Box<Shell>),
    /// A run has it.
    InUse,
    /// It can't be used any more; this is why.
    Over(String),
}
