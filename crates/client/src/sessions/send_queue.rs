//! What a run sends to its shell, in order.

use std::cell::RefCell;
use std::future::Future;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};

use crate::Result;

/// What a run sends to its shell, one thing after the other.
///
/// Each has settled before the next is sent, also if nobody waits for it any more: the end of the
/// run is in the answer to the last one, so that nothing of it can still be on its way to the next
/// run. After a failure nothing is sent: what has failed may arrive yet.
pub(super) struct SendQueue<'a>(RefCell<PendingSend<'a>>);

/// Something that is sent.
pub(super) type PendingSend<'a> = Shared<LocalBoxFuture<'a, Result<()>>>;

impl<'a> SendQueue<'a> {
    pub(super) fn new(first: impl Future<Output = Result<()>> + 'a) -> Self {
        Self(RefCell::new(first.boxed_local().shared()))
    }

    /// Resolves when all that was sent has settled.
    pub(super) fn settled(&self) -> PendingSend<'a> {
        self.0.borrow().clone()
    }

    /// Sends something when all before it has settled.
    pub(super) fn push(&self, next: impl Future<Output = Result<()>> + 'a) -> PendingSend<'a> {
        let before = self.settled();
        let sending = async {
            before.await?;
            next.await
        };
        let sending = sending.boxed_local().shared();
        *self.0.borrow_mut() = sending.clone();
        sending
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::error::Error;

    #[test]
    fn nothing_is_sent_after_a_failure() {
        let sent = Cell::new(false);
        let send_queue = SendQueue::new(async { Err(Error::Closed.into()) });
        let second = send_queue.push(async {
            sent.set(true);
            Ok(())
        });
        assert!(second.now_or_never().unwrap().is_err());
        assert!(!sent.get());
    }
}
