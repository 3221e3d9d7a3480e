//! Sessions: shells that remember. One operation a file; `markers.rs`, `script.rs`, `in_order.rs` and
//! `turns.rs` decide, the others carry out.

mod close;
mod create;
mod ending;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod in_order;
mod interrupt;
mod markers;
mod output;
mod run;
mod script;
mod shell;
mod turns;

use std::cell::RefCell;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use self::close::Closing;
use self::shell::{Shell, State};
use self::turns::Turns;
use crate::request::ExecId;
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::host_value::HostText;

/// The client of an agent's sessions.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Sessions {
    transport: Transport,
    /// Those that were created and not closed.
    open: Rc<RefCell<Vec<Session>>>,
}

impl Sessions {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, open: Rc::default() }
    }
}

/// A shell that remembers: it keeps its directory, variables and functions from run to run.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Session(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    id: ExecId,
    /// The way that closing the session closes.
    transport: Transport,
    /// The way of the sandbox.
    outer: Transport,
    turns: Turns,
    state: RefCell<State>,
    closing: RefCell<Option<Closing>>,
    siblings: Rc<RefCell<Vec<Session>>>,
}

impl Session {
    /// The shell, for one run.
    fn take_shell(&self) -> Result<Box<Shell>> {
        if self.0.outer.in_flight.is_closed() {
            return Err(Error::Closed.into());
        }
        let mut state = self.0.state.borrow_mut();
        match std::mem::replace(&mut *state, State::Lent) {
            State::Ready(shell) => Ok(shell),
            State::Lent => Err(self.over("its shell was not given back")),
            State::Over(reason) => {
                let error = self.over(&reason);
                *state = State::Over(reason);
                Err(error)
            }
        }
    }

    fn give_back(&self, new: State) {
        let mut state = self.0.state.borrow_mut();
        if matches!(*state, State::Lent) {
            *state = new;
        }
    }

    fn end(&self, reason: &str) {
        *self.0.state.borrow_mut() = State::Over(reason.to_owned());
    }

    fn over(&self, reason: &str) -> Box<Error> {
        over(&self.0.id, reason)
    }
}

/// The error of a session that can't be used any more.
fn over(id: &ExecId, reason: &str) -> Box<Error> {
    Box::new(Error::Session {
        exec_id: id.as_str().to_owned(),
        reason: format!("this session is over: {reason}"),
        output: HostText::default(),
    })
}
