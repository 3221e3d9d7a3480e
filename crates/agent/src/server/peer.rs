use std::sync::{Arc, MutexGuard};

use axum::{body::Body, http::StatusCode, response::Response};
use http_body_util::BodyExt;
use tokio::time::Instant;

use super::{
    connections::Connections, places::NoReadOnlyPlace, progress::Progress, state::ConnectionState,
};
use crate::token::Role;

/// The client at the other end of a connection, as the requests on it have it in their extensions, and how
/// far the connection is.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(super) state: Arc<ConnectionState>,
    pub(super) connections: Connections,
}

impl Peer {
    /// A request of this client has shown a token that is good for this.
    pub(crate) fn authenticate(&self, role: Role) -> Result<(), NoReadOnlyPlace> {
        self.connections.authenticate(&self.state, role)?;
        self.connections.changed();
        Ok(())
    }

    /// What this connection carries can't be asked for again: from now on its client may take nothing for as long as it is
    /// there, and makes whoever sends wait.
    pub(crate) fn may_pause(&self) {
        self.progress().may_pause();
    }

    pub(super) fn progress(&self) -> MutexGuard<'_, Progress> {
        self.state.progress()
    }

    /// The application gets a request.
    pub(super) fn begin(&self) {
        self.progress().begin(Instant::now());
        self.connections.changed();
    }

    /// The answer ends with its body. A connection that becomes a WebSocket is never done with it.
    pub(super) fn answer(self: Arc<Self>, response: Response) -> Response {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return response;
        }
        let end = AnswerEnd(self);
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
struct AnswerEnd(Arc<Peer>);

impl Drop for AnswerEnd {
    fn drop(&mut self) {
        self.0.progress().answered();
    }
}
