use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering::SeqCst},
};

use axum::{body::Body, http::StatusCode, response::Response};
use http_body_util::BodyExt;

/// Whether a connection is at a request that the application has seen. What is written while it is
/// not is the HTTP server's own.
#[derive(Clone, Debug, Default)]
pub(super) struct Exchange(Arc<AtomicU8>);

const NONE: u8 = 0;
/// A request is being answered.
const ANSWERING: u8 = 1;
/// The end of the answer may still have to be written.
const ANSWERED: u8 = 2;

impl Exchange {
    /// The application gets a request.
    pub(super) fn begin(&self) {
        self.0.store(ANSWERING, SeqCst);
    }

    /// The answer ends with its body. A connection that becomes a WebSocket is never done with it.
    pub(super) fn with(&self, response: Response) -> Response {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return response;
        }
        let end = End(self.clone());
        response.map(|body| {
            let body = body.map_err(move |error| {
                // This makes it live as long as the body does.
                let _end = &end;
                error
            });
            Body::new(body)
        })
    }

    /// All that there was to be written is written.
    pub(super) fn flushed(&self) {
        // It fails where there is more to come.
        let _more = self.0.compare_exchange(ANSWERED, NONE, SeqCst, SeqCst);
    }

    pub(super) fn is_none(&self) -> bool {
        self.0.load(SeqCst) == NONE
    }
}

/// The end of an answer, when it is dropped.
struct End(Exchange);

impl Drop for End {
    fn drop(&mut self) {
        self.0.0.store(ANSWERED, SeqCst);
    }
}
