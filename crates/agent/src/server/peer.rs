use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use axum::{body::Body, http::StatusCode, response::Response};
use futures_util::task::AtomicWaker;
use http_body_util::BodyExt;
use tokio::time::Instant;

use super::{connections::Shared, places::NoReadOnlyPlace, progress::Progress};
use crate::token::Role;

/// The client at the other end of a connection, as the requests on it have it in their extensions, and how
/// far the connection is.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(super) id: u64,
    progress: Mutex<Progress>,
    /// Of the task that has the connection.
    pub(super) waker: AtomicWaker,
    connections: Weak<Shared>,
}

impl Peer {
    pub(super) fn new(id: u64, connections: Weak<Shared>) -> Self {
        let progress = Mutex::new(Progress::accepted(Instant::now()));
        Self { id, progress, waker: AtomicWaker::new(), connections }
    }

    /// A request of this client has shown a token that is good for this.
    pub(crate) fn authenticate(&self, role: Role) -> Result<(), NoReadOnlyPlace> {
        if let Some(connections) = self.connections.upgrade() {
            connections.authenticate(self, role)?;
        }
        self.changed();
        Ok(())
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The application gets a request.
    pub(super) fn begin(&self) {
        self.progress().begin(Instant::now());
        self.changed();
    }

    /// Has the connection end where it waits for its client.
    pub(super) fn evict(&self) {
        self.progress().evict(Instant::now());
        self.waker.wake();
    }

    /// The connection may have become one that makes room for another.
    pub(super) fn changed(&self) {
        if let Some(connections) = self.connections.upgrade() {
            connections.changed.notify_one();
        }
    }

    /// The answer ends with its body. A connection that becomes a WebSocket is never done with it.
    pub(super) fn answer(self: Arc<Self>, response: Response) -> Response {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return response;
        }
        let end = End(self);
        response.map(|body| {
            let body = body.map_err(move |error| {
                // This makes it live as long as the body does.
                let _end = &end;
                error
            });
            Body::new(body)
        })
    }
}

/// The end of an answer, when it is dropped.
struct End(Arc<Peer>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.progress().answered();
    }
}
