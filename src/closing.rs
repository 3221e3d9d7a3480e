//! Ending what is under way when a sandbox or a stream is closed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsValue;
use web_sys::{AbortController, AbortSignal, DomException};

use crate::errors::thrown;
use sandpipe_client::error::{Error, Result};

thread_local! {
    /// The reason of every request that is over. Each could have one of its own, with its stack, which takes
    /// longer than all the rest of an abort.
    static OVER: JsValue =
        DomException::new_with_message_and_name("the request is over", "AbortError")
            .map_or_else(JsValue::from, JsValue::from);
}

/// All that is under way for a sandbox, or for one stream of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Closing the whole also closes this.
    whole: Option<InFlight>,
    closed: Cell<bool>,
    next_key: Cell<u32>,
    controllers: RefCell<Vec<(u32, AbortController)>>,
}

impl InFlight {
    /// A part of it that can be closed by itself.
    pub(crate) fn part(&self) -> Self {
        Self(Rc::new(Inner { whole: Some(self.clone()), ..Inner::default() }))
    }

    /// Registers something that [`InFlight::close`] is to end.
    pub(crate) fn begin(&self) -> Result<Cancel> {
        if self.is_closed() {
            return Err(Error::Closed.into());
        }
        let controller = AbortController::new().map_err(thrown)?;
        let registered = self.lineage().map(|in_flight| in_flight.register(&controller)).collect();
        Ok(Cancel { controller, in_flight: self.clone(), registered })
    }

    /// Ends all that is under way and refuses what comes after.
    pub(crate) fn close(&self) {
        self.0.closed.set(true);
        // Listeners run inside abort(): no borrow may be held then.
        let controllers = std::mem::take(&mut *self.0.controllers.borrow_mut());
        for (_, controller) in controllers {
            controller.abort();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lineage().any(|in_flight| in_flight.0.closed.get())
    }

    /// This, what it is a part of, and so on.
    fn lineage(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |in_flight| in_flight.0.whole.as_ref())
    }

    fn register(&self, controller: &AbortController) -> (Self, u32) {
        let key = self.0.next_key.get();
        self.0.next_key.set(key.wrapping_add(1));
        self.0.controllers.borrow_mut().push((key, controller.clone()));
        (self.clone(), key)
    }
}

/// Something under way. Dropping it ends it, if it has not ended by itself.
#[derive(Debug)]
pub(crate) struct Cancel {
    controller: AbortController,
    in_flight: InFlight,
    registered: Vec<(InFlight, u32)>,
}

impl Cancel {
    /// What is aborted when it is to end.
    pub(crate) fn signal(&self) -> AbortSignal {
        self.controller.signal()
    }

    /// Leaves it to itself: [`InFlight::close`] does not end it any more.
    pub(crate) fn detach(&mut self) {
        for (in_flight, key) in self.registered.drain(..) {
            in_flight.0.controllers.borrow_mut().retain(|(other, _)| *other != key);
        }
    }

    /// The error that a failure of it stands for: closing also fails what is under way.
    pub(crate) fn explain(&self, otherwise: impl FnOnce() -> Error) -> Box<Error> {
        Box::new(if self.in_flight.is_closed() { Error::Closed } else { otherwise() })
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        self.detach();
        OVER.with(|over| self.controller.abort_with_reason(over));
    }
}
