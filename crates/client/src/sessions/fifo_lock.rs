//! A lock that is taken in the order of asking.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot;

/// A lock that is taken in the order of asking. Clones are the same lock.
#[derive(Clone, Default)]
pub(super) struct FifoLock(Rc<RefCell<Queue>>);

#[derive(Default)]
struct Queue {
    is_locked: bool,
    waiting: VecDeque<oneshot::Sender<FifoGuard>>,
}

/// Holds the lock, up to when it is dropped.
pub(super) struct FifoGuard(FifoLock);

impl FifoLock {
    /// Asks for the lock now; resolves when all who asked before are done with it. Dropped, it asks no more.
    pub(super) fn lock(&self) -> impl Future<Output = Option<FifoGuard>> + use<> {
        let (sender, receiver) = oneshot::channel();
        let is_locked = std::mem::replace(&mut self.0.borrow_mut().is_locked, true);
        if is_locked {
            self.0.borrow_mut().waiting.push_back(sender);
        } else {
            // The other end is here.
            sender.send(FifoGuard(self.clone())).unwrap_or_default();
        }
        // None only where the queue itself is gone.
        async { receiver.await.ok() }
    }
}

impl Drop for FifoGuard {
    fn drop(&mut self) {
        let next = {
            let mut queue = self.0.0.borrow_mut();
            while queue.waiting.pop_front_if(|next| next.is_canceled()).is_some() {}
            let next = queue.waiting.pop_front();
            queue.is_locked = next.is_some();
            next
        };
        if let Some(next) = next {
            // Dropped before it was polled, it drops the guard.
            next.send(FifoGuard(self.0.clone())).unwrap_or_default();
        }
    }
}
