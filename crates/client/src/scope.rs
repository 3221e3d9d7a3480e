//! Ending what is under way when a sandbox or a stream is closed.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::abort::AbortSignal;
use crate::error::{Error, Result};

/// All that is under way for a sandbox, or for one stream of it. Clones are the same scope.
#[derive(Clone, Debug, Default)]
pub struct CancelScope(Rc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Closing it also closes this.
    parent: Option<CancelScope>,
    closed: Cell<bool>,
    next_key: Cell<u32>,
    signals: RefCell<Vec<(u32, AbortSignal)>>,
}

impl CancelScope {
    /// A scope within this one that can be closed by itself.
    pub fn child(&self) -> Self {
        Self(Rc::new(Inner { parent: Some(self.clone()), ..Inner::default() }))
    }

    /// Registers something that [`CancelScope::close`] is to end.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn enter(&self) -> Result<ScopedRequest> {
        if self.is_closed() {
            return Err(Error::Closed.into());
        }
        let signal = AbortSignal::default();
        let registered = self.ancestors().map(|scope| scope.register(&signal)).collect();
        Ok(ScopedRequest { signal, scope: self.clone(), registered })
    }

    /// Ends all that is under way and refuses what comes after.
    pub fn close(&self) {
        self.0.closed.set(true);
        // Listeners run inside abort(): no borrow may be held then.
        let signals = self.0.signals.take();
        for (_, signal) in signals {
            signal.controller().abort(None);
        }
    }

    /// Whether this, or what it is in, has been closed.
    pub fn is_closed(&self) -> bool {
        self.ancestors().any(|scope| scope.0.closed.get())
    }

    /// This, what it is in, and so on.
    fn ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |scope| scope.0.parent.as_ref())
    }

    fn register(&self, signal: &AbortSignal) -> (Self, u32) {
        let key = self.0.next_key.get();
        self.0.next_key.set(key.wrapping_add(1));
        self.0.signals.borrow_mut().push((key, signal.clone()));
        (self.clone(), key)
    }
}

/// Something under way in a [`CancelScope`], up to when it is dropped.
#[derive(Debug)]
pub struct ScopedRequest {
    signal: AbortSignal,
    scope: CancelScope,
    registered: Vec<(CancelScope, u32)>,
}

impl ScopedRequest {
    /// What is aborted when it is to end.
    pub fn signal(&self) -> &AbortSignal {
        &self.signal
    }

    /// Resolves when it is to end.
    pub async fn closed(&self) {
        self.signal.aborted().await;
    }

    /// Leaves it to itself: [`CancelScope::close`] does not end it any more.
    pub fn detach(&mut self) {
        for (scope, key) in self.registered.drain(..) {
            scope.0.signals.borrow_mut().retain(|(other, _)| *other != key);
        }
    }

    /// The error that a failure of it stands for: closing also fails what is under way.
    pub fn or_closed(&self, otherwise: impl FnOnce() -> Error) -> Box<Error> {
        Box::new(if self.scope.is_closed() { Error::Closed } else { otherwise() })
    }
}

impl Drop for ScopedRequest {
    fn drop(&mut self) {
        self.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_ends_what_is_in_a_scope_and_in_the_scopes_within_it() {
        let sandbox = CancelScope::default();
        let [stream, other] = [sandbox.child(), sandbox.child()];
        let requests = [&sandbox, &stream, &other].map(|scope| scope.enter().unwrap());
        let ended = || requests.each_ref().map(|request| request.signal().is_aborted());
        stream.close();
        assert_eq!(ended(), [false, true, false]);
        assert!(stream.enter().is_err() && other.enter().is_ok());
        sandbox.close();
        assert_eq!(ended(), [true, true, true]);
        assert!(other.is_closed() && other.enter().unwrap_err().is_closed());
    }

    #[test]
    fn what_is_left_to_itself_or_over_is_not_ended() {
        let scope = CancelScope::default();
        let mut detached = scope.child().enter().unwrap();
        detached.detach();
        drop(scope.child().enter());
        assert!(scope.0.signals.borrow().is_empty());
        scope.close();
        assert!(!detached.signal().is_aborted());
        let error = || Error::StillThere("x".to_owned());
        assert!(detached.or_closed(error).is_closed());
    }
}
