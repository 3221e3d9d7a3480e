//! Ending what is under way when a sandbox or a stream is closed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use web_sys::{AbortController, AbortSignal};

use crate::error::{Error, Result};

/// All that is under way for one sandbox.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    closed: Cell<bool>,
    next: Cell<u32>,
    controllers: RefCell<BTreeMap<u32, AbortController>>,
}

impl InFlight {
    /// Registers something that [`InFlight::close`] is to end.
    pub(crate) fn begin(&self) -> Result<Cancel> {
        if self.0.closed.get() {
            return Err(Error::Closed);
        }
        let controller = AbortController::new().map_err(Error::Thrown)?;
        let key = self.0.next.get();
        self.0.next.set(key.wrapping_add(1));
        self.0.controllers.borrow_mut().insert(key, controller.clone());
        Ok(Cancel { controller, key, in_flight: self.clone() })
    }

    /// Ends all that is under way and refuses what comes after.
    pub(crate) fn close(&self) {
        self.0.closed.set(true);
        // Listeners run inside abort(): no borrow may be held then.
        let controllers = std::mem::take(&mut *self.0.controllers.borrow_mut());
        for controller in controllers.into_values() {
            controller.abort();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.closed.get()
    }
}

/// One request under way. Dropping it ends the request, if it has not ended by itself.
#[derive(Debug)]
pub(crate) struct Cancel {
    controller: AbortController,
    key: u32,
    in_flight: InFlight,
}

impl Cancel {
    /// What `fetch` is given.
    pub(crate) fn signal(&self) -> AbortSignal {
        self.controller.signal()
    }

    /// A handle that ends it from elsewhere.
    pub(crate) fn controller(&self) -> AbortController {
        self.controller.clone()
    }

    /// The error that a failure of it stands for: closing a sandbox also fails what is under way.
    pub(crate) fn explain(&self, otherwise: impl FnOnce() -> Error) -> Error {
        if self.in_flight.is_closed() { Error::Closed } else { otherwise() }
    }
}

impl Drop for Cancel {
    fn drop(&mut self) {
        self.in_flight.0.controllers.borrow_mut().remove(&self.key);
        self.controller.abort();
    }
}
