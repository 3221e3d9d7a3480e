use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use super::attachment::{Attachment, Events};
use crate::closing::InFlight;
use crate::features::Feature;
use crate::request::ExecId;
use crate::socket::Socket;
use crate::transport::Transport;
use sandpipe_client::error::Result;

/// What connects a terminal to its exec: a WebSocket, where there can be one. Its clones are the same
/// line.
#[derive(Clone, Debug)]
pub(crate) struct Line(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    /// The terminal's: the line outlives those who read from it, for what is typed.
    in_flight: InFlight,
    attachment: RefCell<Weak<Attachment>>,
    /// WebSockets don't get through.
    blocked: Cell<bool>,
    /// One has got through.
    proven: Cell<bool>,
}

impl Line {
    /// A line to an agent's execs.
    ///
    /// # Errors
    /// The agent could not be asked whether it takes WebSockets.
    pub(crate) async fn find(transport: &Transport) -> Result<Self> {
        let possible = transport.socket_address("").is_some() && Socket::exists();
        let offered = possible && transport.offers(Feature::Attach).await?;
        Ok(Self::new(transport.in_flight.clone(), !offered))
    }

    fn new(in_flight: InFlight, blocked: bool) -> Self {
        Self(Rc::new(Inner {
            in_flight,
            attachment: RefCell::default(),
            blocked: Cell::new(blocked),
            proven: Cell::default(),
        }))
    }

    /// Another one of the same kind.
    pub(crate) fn another(&self) -> Self {
        Self::new(self.0.in_flight.clone(), self.0.blocked.get())
    }

    /// Connects to an exec, for its events after `last_sequence`. None where it takes a stream.
    pub(crate) async fn open(
        &self,
        transport: &Transport,
        id: &ExecId,
        last_sequence: i64,
    ) -> Option<Events> {
        if self.0.blocked.get() {
            return None;
        }
        let address = transport.socket_address(&id.socket_path(last_sequence))?;
        let cancel = self.0.in_flight.begin().ok()?;
        let Some(events) = Attachment::open(&address, transport.url(), cancel).await else {
            self.0.blocked.set(!self.0.proven.get());
            return None;
        };
        self.0.proven.set(true);
        self.0.attachment.replace(Rc::downgrade(events.attachment()));
        Some(events)
    }

    /// The connection that there is now.
    pub(super) fn attachment(&self) -> Option<Rc<Attachment>> {
        self.0.attachment.borrow().upgrade().filter(|attachment| attachment.is_open())
    }
}
