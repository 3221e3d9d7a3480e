//! What changes in a directory of a simulated agent's.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, ready, select};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::{WatcherEvent, WatcherEventType};

use super::SimAgent;
use super::exec::Waiting;
use super::output_form::{comment, event};
use super::streams::PING_INTERVAL_MS;
use crate::network::Bytes;

/// How long the first bytes take, in milliseconds.
const SENDING_MS: f64 = 4.0;

/// A change, with the paths that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) kind: WatcherEventType,
    pub(crate) paths: Vec<String>,
    /// There were too many at once: those who watch are told that something is missing, and not of this.
    pub(crate) is_lost: bool,
}

/// A directory that is watched.
#[derive(Default)]
pub(crate) struct SimWatched {
    /// All changes there have been.
    changes: RefCell<Vec<Change>>,
    /// How many changes there had been when each stream of them began.
    streams: RefCell<Vec<usize>>,
    readers: Waiting,
}

impl SimWatched {
    /// Something changes.
    pub(crate) fn change(&self, change: Change) {
        self.changes.borrow_mut().push(change);
        self.readers.wake();
    }

    /// How many changes there had been when the first stream of them began.
    pub(crate) fn first_stream(&self) -> usize {
        self.streams.borrow().first().copied().unwrap_or_default()
    }

    /// All changes there have been.
    pub(crate) fn changes(&self) -> Vec<Change> {
        self.changes.borrow().clone()
    }
}

impl SimAgent {
    /// Changes from now on.
    pub(super) fn stream_watched(self: &Rc<Self>) -> Bytes {
        let next = self.watched.changes.borrow().len();
        self.watched.streams.borrow_mut().push(next);
        let (agent, connected) = (self.clone(), watcher_event(WatcherEventType::Connected, &[]));
        // What changes meanwhile is delivered with it.
        let first = async move {
            agent.executor.sleep(SENDING_MS).await;
            let changes = agent.watched.changes.borrow();
            let new = changes.get(next..).unwrap_or_default();
            let bytes = [connected, new.iter().flat_map(told).collect()].concat();
            (bytes, next + new.len())
        };
        let agent = self.clone();
        let all = async move {
            let (bytes, next) = first.await;
            stream::once(ready(bytes)).chain(agent.stream_changes(next))
        };
        stream::once(all).flatten().boxed_local()
    }

    /// The changes from this one on.
    fn stream_changes(self: &Rc<Self>, next: usize) -> Bytes {
        let agent = self.clone();
        let changes = stream::unfold(next, move |mut next| {
            let agent = agent.clone();
            async move {
                let bytes = {
                    let find = || {
                        let changes = agent.watched.changes.borrow();
                        let new = changes.get(next..).filter(|new| !new.is_empty())?;
                        next += new.len();
                        Some(new.iter().flat_map(told).collect())
                    };
                    let found = pin!(agent.watched.readers.until(find));
                    match select(found, agent.executor.sleep(PING_INTERVAL_MS)).await {
                        Either::Left((bytes, _)) => bytes,
                        Either::Right(_) => comment("ping"),
                    }
                };
                Some((bytes, next))
            }
        });
        changes.boxed_local()
    }
}

/// What those who watch are told.
fn told(change: &Change) -> Vec<u8> {
    if change.is_lost {
        watcher_event(WatcherEventType::Overflow, &["/workspace/d".to_owned()])
    } else {
        watcher_event(change.kind, &change.paths)
    }
}

fn watcher_event(kind: WatcherEventType, paths: &[String]) -> Vec<u8> {
    let timestamp = "2026-01-01T00:00:00Z".to_owned();
    let (paths, raw, message) = (paths.to_vec(), None, None);
    event("", &WatcherEvent { paths, kind, timestamp, raw, message })
}
