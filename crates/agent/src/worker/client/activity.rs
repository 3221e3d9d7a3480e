use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Duration, Instant};

/// What a worker has to do.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// How many conversations there are.
    count: usize,
    /// When it had one last.
    last: Instant,
}

/// A conversation, until it is dropped.
#[derive(Debug)]
pub(super) struct Use(Activity);

impl Activity {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(State { count: 0, last: Instant::now() })))
    }

    pub(super) fn begin(&self) -> Use {
        self.state().count += 1;
        Use(self.clone())
    }

    /// How long it has had nothing to do; none where it has.
    pub(super) fn idle(&self) -> Option<Duration> {
        let state = self.state();
        (state.count == 0).then(|| state.last.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.count -= 1;
        state.last = Instant::now();
    }
}
