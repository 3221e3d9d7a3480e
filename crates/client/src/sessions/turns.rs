//! One at a time, in the order of asking.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures_channel::oneshot;

/// Hands out turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Rc<RefCell<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    taken: bool,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// Somebody's turn, up to when it is dropped.
#[derive(Debug)]
pub(super) struct Turn(Turns);

impl Turns {
    /// Gets in line now; resolves when it is one's turn. Who drops it leaves the line.
    pub(super) fn take(&self) -> impl Future<Output = Option<Turn>> + use<> {
        let (give, given) = oneshot::channel();
        let taken = std::mem::replace(&mut self.0.borrow_mut().taken, true);
        if taken {
            self.0.borrow_mut().waiting.push_back(give);
        } else {
            // The other end is here.
            give.send(Turn(self.clone())).unwrap_or_default();
        }
        // None only where the queue itself is gone.
        async { given.await.ok() }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut queue = self.0.0.borrow_mut();
            while queue.waiting.pop_front_if(|next| next.is_canceled()).is_some() {}
            let next = queue.waiting.pop_front();
            queue.taken = next.is_some();
            next
        };
        if let Some(next) = next {
            // It is there. If it goes without having looked, the turn is dropped with it.
            next.send(Turn(self.0.clone())).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn are_given_in_order() {
        let turns = Turns::default();
        let first = turns.take().now_or_never().flatten();
        let (mut second, mut third) = (Box::pin(turns.take()), Box::pin(turns.take()));
        assert!(first.is_some());
        assert!((&mut third).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        assert!((&mut third).now_or_never().is_none());
        let second = (&mut second).now_or_never().flatten();
        assert!(second.is_some());
        drop(second);
        assert!(third.now_or_never().flatten().is_some());
    }

    #[test]
    fn pass_over_who_has_left() {
        let turns = Turns::default();
        let first = turns.take().now_or_never().flatten();
        let (second, third, fourth) = (turns.take(), turns.take(), turns.take());
        drop(second);
        drop(first);
        // It has been given the turn and never took it.
        drop(third);
        assert!(fourth.now_or_never().flatten().is_some());
        assert!(turns.take().now_or_never().flatten().is_some());
    }
}
