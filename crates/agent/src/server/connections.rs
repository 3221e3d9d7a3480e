use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{Notify, watch},
    time::{Instant, sleep, timeout_at},
};

use super::{
    places::{Admission, ConnectionLimits, NoReadOnlyPlace},
    state::ConnectionState,
};
use crate::token::Role;

/// The connections of all clients: how many are open, and whether one of them gets on. A connection
/// that has become a WebSocket, which the HTTP server forgets, counts like another.
#[derive(Clone, Debug)]
pub(crate) struct Connections(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: ConnectionLimits,
    /// How long a client may take nothing of what is to be written to it.
    stall_timeout: Duration,
    /// Those that have not had all there is for them.
    open: watch::Sender<usize>,
    /// The bytes that were written to all of them.
    written: AtomicU64,
    places: Mutex<Places>,
    /// There may be a place, or a connection that could make room.
    changed: Notify,
}

#[derive(Debug, Default)]
struct Places {
    taken: HashMap<u64, Arc<ConnectionState>>,
    /// How many connections there ever were.
    count: u64,
}

impl Connections {
    /// There may be at most `max`; where there are more, [`ConnectionLimits`] says who makes room. A client may take nothing for
    /// `stall_timeout`.
    pub(crate) fn new(max: usize, stall_timeout: Duration) -> Self {
        Self(Arc::new(Shared {
            limits: ConnectionLimits::of(max),
            stall_timeout,
            open: watch::Sender::default(),
            written: AtomicU64::default(),
            places: Mutex::default(),
            changed: Notify::default(),
        }))
    }

    /// Counts one more.
    pub(super) fn open(&self) -> Arc<ConnectionState> {
        self.open_one();
        let mut places = self.places();
        places.count += 1;
        let state = Arc::new(ConnectionState::new(places.count, self.0.stall_timeout));
        places.taken.insert(state.id, Arc::clone(&state));
        state
    }

    pub(super) fn count_written(&self, bytes: usize) {
        self.0.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A request on this connection has shown a token that is good for this.
    pub(super) fn authenticate(
        &self,
        state: &ConnectionState,
        role: Role,
    ) -> Result<(), NoReadOnlyPlace> {
        // No other gets in between.
        let places = self.places();
        if role == Role::ReadOnly {
            let others = places.taken.values().filter(|other| other.id != state.id);
            self.0.limits.admit_read_only(others.map(|other| *other.progress()))?;
        }
        state.progress().authenticated(role);
        Ok(())
    }

    /// There may be a place, or a connection that could make room.
    pub(super) fn changed(&self) {
        self.0.changed.notify_one();
    }

    /// One more has not had all there is for it.
    pub(super) fn open_one(&self) {
        self.0.open.send_modify(|open| *open += 1);
    }

    /// One has had all there is for it.
    pub(super) fn close_one(&self) {
        self.0.open.send_modify(|open| *open -= 1);
    }

    /// One is gone.
    pub(super) fn leave(&self, state: &ConnectionState) {
        self.places().taken.remove(&state.id);
        self.changed();
    }

    /// Waits until there is a place for one more; where others have to make room, they do.
    pub(super) async fn room(&self) {
        loop {
            let changed = self.0.changed.notified();
            match self.admit() {
                Admission::Admit => return,
                Admission::Evict(id) => {
                    tracing::debug!(id, "a connection makes room for another");
                    if let Some(state) = self.places().taken.get(&id) {
                        state.evict();
                    }
                }
                Admission::Wait(None) => changed.await,
                Admission::Wait(Some(until)) => {
                    // Whichever it is, it is decided anew.
                    let _elapsed = timeout_at(until, changed).await;
                }
            }
        }
    }

    fn admit(&self) -> Admission {
        let (limits, places) = (self.0.limits, self.places());
        if limits.leave_room(places.taken.len()) {
            return Admission::Admit;
        }
        let taken = places.taken.iter().map(|(id, state)| (*id, *state.progress()));
        limits.admit(taken, Instant::now())
    }

    /// Waits until none is open; returns whether that came true. It gives up when for `idle_timeout` no
    /// client has taken anything, and after `timeout` in any case.
    pub(crate) async fn closed(&self, idle_timeout: Duration, timeout: Duration) -> bool {
        let mut open = self.0.open.subscribe();
        let stalled = async {
            let written = || self.0.written.load(Ordering::Relaxed);
            loop {
                let before = written();
                sleep(idle_timeout).await;
                if written() == before {
                    return;
                }
            }
        };
        tokio::select! {
            closed = open.wait_for(|open| *open == 0) => closed.is_ok(),
            () = stalled => false,
            () = sleep(timeout) => false,
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
