//! Connecting to an exec by a WebSocket.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::exec_socket::{ExecSocket, SocketOutput};
use crate::{AbortSignal, Agent, ExecId, Feature, Result};

/// Connects a terminal to its exec by a WebSocket, where there can be one. Clones share their state.
#[derive(Clone)]
pub(crate) struct SocketConnector(Rc<Inner>);

struct Inner {
    /// The terminal's: it outlives those who read from it, for what is typed.
    scope: AbortSignal,
    socket: RefCell<Weak<ExecSocket>>,
    /// WebSockets don't get through.
    is_unavailable: Cell<bool>,
    /// One has got through.
    has_worked: Cell<bool>,
    /// What the exec ended with, once its output has been read to its end.
    exit_code: Cell<Option<i32>>,
}

impl SocketConnector {
    /// A connection to an agent's execs.
    ///
    /// # Errors
    /// The agent could not be asked whether it takes WebSockets.
    pub(crate) async fn probe(agent: &Agent) -> Result<Self> {
        let possible = agent.http.socket_address("").is_some();
        let offered = possible && agent.offers(Feature::Attach).await?;
        Ok(Self::new(agent.http.scope.clone(), !offered))
    }

    fn new(scope: AbortSignal, is_unavailable: bool) -> Self {
        Self(Rc::new(Inner {
            scope,
            socket: RefCell::default(),
            is_unavailable: Cell::new(is_unavailable),
            has_worked: Cell::default(),
            exit_code: Cell::default(),
        }))
    }

    /// Another one of the same kind.
    pub(crate) fn sibling(&self) -> Self {
        Self::new(self.0.scope.clone(), self.0.is_unavailable.get())
    }

    /// Connects to an exec, for its events after `last_sequence`. None where it takes a stream.
    pub(crate) async fn open(
        &self,
        agent: &Agent,
        id: &ExecId,
        last_sequence: i64,
    ) -> Option<SocketOutput> {
        if self.0.is_unavailable.get() || self.0.scope.is_aborted() {
            return None;
        }
        let address = agent.http.socket_address(&id.socket_path(last_sequence))?;
        let scope = self.0.scope.clone();
        let Some(events) =
            ExecSocket::open(agent.http.host(), &address, agent.http.url(), scope).await
        else {
            self.0.is_unavailable.set(!self.0.has_worked.get());
            return None;
        };
        self.0.has_worked.set(true);
        self.0.socket.replace(Rc::downgrade(events.socket()));
        Some(events)
    }

    /// What the exec ended with, where its output has been read to its end.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.0.exit_code.get()
    }

    pub(crate) fn set_exit_code(&self, exit_code: i32) {
        self.0.exit_code.set(Some(exit_code));
    }

    /// The connection that there is now.
    pub(crate) fn socket(&self) -> Option<Rc<ExecSocket>> {
        self.0.socket.borrow().upgrade().filter(|socket| socket.is_open())
    }
}
