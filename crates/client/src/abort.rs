//! Signals that something is to end, as those of the DOM but without JavaScript.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::{Rc, Weak};

use futures_channel::oneshot;
use futures_util::future::{Either, select};

use crate::error::{StopReason, Stopped};
use crate::{Call, Error, HostOutput, HostValue};

/// Says that something is to end. Clones are the same signal.
#[derive(Clone, Default)]
pub struct AbortSignal(Rc<State>);

/// Aborts one [`AbortSignal`], which it does not keep alive.
#[derive(Clone)]
pub struct AbortController(Weak<State>);

#[derive(Default)]
struct State {
    aborted: Cell<bool>,
    reason: RefCell<Option<HostValue>>,
    next_key: Cell<u32>,
    listeners: RefCell<Vec<(u32, Listener)>>,
    source: RefCell<Option<HostValue>>,
}

type Listener = Box<dyn FnOnce()>;

impl AbortSignal {
    /// A signal that is aborted from elsewhere. `listen` gets what aborts it, and gives what is to live as long as
    /// the signal does: the listener, and what it listens to.
    pub fn of_source(listen: impl FnOnce(AbortController) -> HostValue) -> Self {
        let signal = Self::default();
        let source = listen(signal.controller());
        signal.0.source.replace(Some(source));
        signal
    }

    /// A signal that is aborted with this one, which it keeps alive, and can be aborted by itself.
    pub fn child(&self) -> Self {
        Self::of_source(|controller| {
            HostValue::new((self.on_abort(move || controller.abort(None)), self.clone()))
        })
    }

    /// Leaves the signal to itself: what it was made of aborts it no more.
    pub fn detach(&self) {
        // What is dropped may listen to the signal as well: the borrow is over.
        drop(self.0.source.take());
    }

    /// What aborts it.
    pub fn controller(&self) -> AbortController {
        AbortController(Rc::downgrade(&self.0))
    }

    /// What it was made of, for the host that has made it.
    pub fn source(&self) -> Option<HostValue> {
        self.0.source.borrow().clone()
    }

    /// Whether it has been aborted.
    pub fn is_aborted(&self) -> bool {
        self.0.aborted.get()
    }

    /// Why it has been aborted, if it has been and a reason was given.
    pub fn reason(&self) -> Option<HostValue> {
        self.0.reason.borrow().clone()
    }

    /// Resolves when it is aborted, with the reason; at once if it has been.
    pub async fn aborted(&self) -> Option<HostValue> {
        let (sender, receiver) = oneshot::channel();
        // Nobody may be waiting any more.
        let _subscription = self.on_abort(move || sender.send(()).unwrap_or_default());
        // The sender is there as long as the subscription.
        receiver.await.unwrap_or_default();
        self.reason()
    }

    /// A call that fails, with the reason, when the signal is aborted: what it has under way ends.
    pub(crate) fn ending<T: 'static>(signal: Option<Self>, call: Call<T>) -> Call<T> {
        let Some(signal) = signal else {
            return call;
        };
        Box::pin(async move {
            match select(pin!(signal.aborted()), call).await {
                Either::Left((reason, _)) => Err(aborted_error(reason)),
                Either::Right((outcome, _)) => outcome,
            }
        })
    }

    /// Calls `listener` when it is aborted, at once if it has been, unless the subscription has been dropped.
    pub fn on_abort(&self, listener: impl FnOnce() + 'static) -> Subscription {
        let key = self.0.next_key.get();
        self.0.next_key.set(key.wrapping_add(1));
        if self.is_aborted() {
            listener();
        } else {
            self.0.listeners.borrow_mut().push((key, Box::new(listener)));
        }
        Subscription { state: Rc::downgrade(&self.0), key }
    }
}

/// What a call fails with that is given up.
pub(crate) fn aborted_error(reason: Option<HostValue>) -> Box<Error> {
    Box::new(Error::Stopped(Stopped {
        exec_id: None,
        why: StopReason::Interrupted { reason },
        output: HostOutput::default(),
        forced: false,
        unstopped: None,
        incomplete: None,
    }))
}

impl AbortController {
    /// Aborts the signal and calls all that listen to it, in the order in which they came. The first abort counts.
    pub fn abort(&self, reason: Option<HostValue>) {
        let Some(state) = self.0.upgrade() else {
            return;
        };
        if state.aborted.replace(true) {
            return;
        }
        state.reason.replace(reason);
        // One at a time: a listener may call back, or drop the subscription of one that comes after it.
        while let Some(listener) = state.next_listener() {
            listener();
        }
    }
}

impl State {
    fn next_listener(&self) -> Option<Listener> {
        let mut listeners = self.listeners.borrow_mut();
        (!listeners.is_empty()).then(|| listeners.remove(0).1)
    }
}

/// Listens to an [`AbortSignal`], up to when it is dropped.
#[must_use]
pub struct Subscription {
    state: Weak<State>,
    key: u32,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let Some(state) = self.state.upgrade() else {
            return;
        };
        let removed = {
            let mut listeners = state.listeners.borrow_mut();
            let place = listeners.iter().position(|(key, _)| *key == self.key);
            place.map(|place| listeners.remove(place))
        };
        // What it holds may listen to the signal as well: the borrow is over.
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_reason_reaches_all_who_wait_and_all_who_ask_later() {
        let signal = AbortSignal::default();
        let mut waiting = pin!(signal.aborted());
        assert!(waiting.as_mut().now_or_never().is_none());
        signal.controller().abort(Some(HostValue::new("why")));
        signal.controller().abort(Some(HostValue::new("too late")));
        for reason in [waiting.now_or_never(), signal.aborted().now_or_never()] {
            assert_eq!(reason.unwrap().unwrap().downcast_ref(), Some(&"why"));
        }
        assert!(signal.is_aborted());
    }

    #[test]
    fn a_listener_is_called_once_and_only_while_it_is_subscribed() {
        let calls = Rc::new(RefCell::new(Vec::new()));
        let signal = AbortSignal::default();
        let listen = |name| {
            let calls = calls.clone();
            signal.on_abort(move || calls.borrow_mut().push(name))
        };
        let subscriptions = [listen("first"), listen("second")];
        drop(listen("dropped"));
        signal.controller().abort(None);
        drop(listen("later"));
        drop(subscriptions);
        assert_eq!(*calls.borrow(), ["first", "second", "later"]);
    }

    #[test]
    fn a_listener_may_abort_subscribe_and_unsubscribe() {
        let signal = AbortSignal::default();
        let calls = Rc::new(Cell::new(0));
        let (other, counted) = (signal.clone(), calls.clone());
        let held = Rc::new(Cell::new(None));
        let own = held.clone();
        held.set(Some(signal.on_abort(move || {
            other.controller().abort(None);
            drop(own.take());
            drop(other.on_abort(move || counted.set(counted.get() + 1)));
        })));
        signal.controller().abort(None);
        assert_eq!(calls.get(), 1);
    }

    #[test]
    fn a_listener_that_an_earlier_one_of_the_same_abort_unsubscribed_is_not_called() {
        let signal = AbortSignal::default();
        let calls = Rc::new(Cell::new(0));
        let (later, counted) = (Rc::new(Cell::new(None)), calls.clone());
        let dropped = later.clone();
        let _earlier = signal.on_abort(move || drop(dropped.take()));
        later.set(Some(signal.on_abort(move || counted.set(counted.get() + 1))));
        signal.controller().abort(None);
        assert_eq!(calls.get(), 0);
    }

    #[test]
    fn a_child_is_aborted_with_its_parent_and_by_itself() {
        let parent = AbortSignal::default();
        let [child, other, detached] = [parent.child(), parent.child(), parent.child()];
        let grandchild = child.child();
        detached.detach();
        drop(parent.child());
        let aborted =
            || [&parent, &child, &grandchild, &other, &detached].map(AbortSignal::is_aborted);
        child.controller().abort(None);
        assert_eq!(aborted(), [false, true, true, false, false]);
        parent.controller().abort(None);
        assert_eq!(aborted(), [true, true, true, true, false]);
        assert!(parent.0.listeners.borrow().is_empty() && parent.child().is_aborted());
    }

    #[test]
    fn a_grandchild_is_aborted_with_the_first_signal_although_nobody_holds_the_one_between() {
        let parent = AbortSignal::default();
        let grandchild = parent.child().child();
        parent.controller().abort(None);
        assert!(grandchild.is_aborted());
    }

    #[test]
    fn a_source_lives_as_long_as_its_signal_and_no_longer() {
        struct Source(Rc<Cell<bool>>);
        impl Drop for Source {
            fn drop(&mut self) {
                self.0.set(true);
            }
        }
        let is_dropped = Rc::new(Cell::new(false));
        let mut aborter = None;
        let signal = AbortSignal::of_source(|controller| {
            // As a listener does that aborts the signal.
            aborter = Some(controller.clone());
            HostValue::new((Source(is_dropped.clone()), controller))
        });
        let clone = signal.clone();
        drop(signal);
        aborter.unwrap().abort(None);
        assert!(clone.is_aborted() && clone.source().is_some() && !is_dropped.get());
        drop(clone);
        assert!(is_dropped.get());
    }
}
