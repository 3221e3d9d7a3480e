//! The HTTP client of one agent.

use std::rc::Rc;

use futures_util::future::{Either, LocalBoxFuture, select};

use super::response::{IDLE_TIMEOUT_MS, error_of_status, retry_after_ms};
use super::{MediaType, Request, ResponseBody, RetryPolicy, excerpt};
use crate::host::{FileHead, HttpRequest};
use crate::{AbortSignal, Error, Host, Result};

/// The most that is read of an answer with an error: it may be any server's.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The HTTP client of one agent. Clones share their state.
#[derive(Clone)]
pub struct HttpClient {
    shared: Rc<Shared>,
    /// Aborted: all that it has under way ends, and what comes after is refused.
    pub(crate) scope: AbortSignal,
}

/// What does not change about an agent.
struct Shared {
    host: Rc<dyn Host>,
    url: Rc<str>,
    socket_query: Option<String>,
    retry: RetryPolicy,
}

impl HttpClient {
    /// A client of the agent at `url`, which has no slash at its end.
    ///
    /// `socket_query` is what a WebSocket's address carries in place of headers; None where it can't say all that a
    /// request does, or where there are no WebSockets.
    pub fn new(
        host: Rc<dyn Host>,
        url: &str,
        socket_query: Option<String>,
        retry: RetryPolicy,
    ) -> Self {
        let shared = Shared { host, url: url.into(), socket_query, retry };
        Self { shared: Rc::new(shared), scope: AbortSignal::default() }
    }

    /// The same client for something that can be closed by itself.
    pub(crate) fn child(&self) -> Self {
        Self { shared: self.shared.clone(), scope: self.scope.child() }
    }

    /// The same client for what is still to be done when all else has been closed.
    pub(crate) fn detached(&self) -> Self {
        Self { shared: self.shared.clone(), scope: AbortSignal::default() }
    }

    /// What it is given by its surroundings.
    pub(crate) fn host(&self) -> &Rc<dyn Host> {
        &self.shared.host
    }

    /// The agent's address.
    pub(crate) fn url(&self) -> &str {
        &self.shared.url
    }

    /// When a request is made again.
    pub(crate) fn retry(&self) -> &RetryPolicy {
        &self.shared.retry
    }

    /// A random number from 0 to 1, without 1.
    pub(crate) fn random(&self) -> f64 {
        let [a, b, c, d, ..] = self.host().random_bytes();
        f64::from(u32::from_ne_bytes([a, b, c, d])) / 2_f64.powi(32)
    }

    /// Whether this, or what it is a child of, has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.scope.is_aborted()
    }

    /// Ends all that is under way and refuses what comes after.
    pub(crate) fn close(&self) {
        self.scope.controller().abort(None);
    }

    /// The address of a WebSocket of the agent's, if a WebSocket can say all that a request does. The
    /// path has a query.
    pub(crate) fn socket_address(&self, path: &str) -> Option<String> {
        let query = self.shared.socket_query.as_ref()?;
        // "http" is the beginning of "https", too.
        let rest = self.url().strip_prefix("http")?;
        Some(format!("ws{rest}{path}{query}"))
    }

    /// Makes a request once and leaves the answer's body to be read: that of one with status 2xx, of a kind that was
    /// asked for.
    pub(crate) fn open<'a>(
        &'a self,
        request: &'a Request,
    ) -> LocalBoxFuture<'a, Result<ResponseBody>> {
        Box::pin(async move {
            let Shared { host, url, .. } = &*self.shared;
            let operation = request.operation;
            if self.is_closed() {
                return Err(Error::Closed.into());
            }
            let mut body = ResponseBody {
                status: 0,
                media_type: MediaType::Json,
                file: FileHead::default(),
                body: None,
                host: host.clone(),
                url: url.clone(),
                operation,
                scope: self.scope.clone(),
                cancel: self.scope.child(),
                opened_ms: 0.0,
                chunk: Vec::new(),
                put_back: Vec::new(),
                idle_timer: None,
            };
            let answer = host.send(HttpRequest {
                method: request.method,
                url: format!("{url}{}", request.path),
                accept: request.accept,
                idempotency_key: request.idempotency_key.clone(),
                headers: request.headers.clone(),
                body: request.body.clone(),
                cancel: body.cancel.clone(),
            });
            let timeout_ms = if request.may_wait { f64::INFINITY } else { IDLE_TIMEOUT_MS };
            let timeout = host.sleep(timeout_ms);
            let answer = match select(answer, timeout).await {
                Either::Left((answer, _)) => answer.map_err(|none| body.no_answer(none))?,
                Either::Right(_) => return Err(body.cut_off("no answer within 45 s")),
            };
            (body.body, body.opened_ms) = (answer.body, host.now_ms());
            (body.status, body.file) = (answer.status, answer.file);
            if !(200..300).contains(&answer.status) {
                let text = body.read_up_to(MAX_ERROR_BODY).await?;
                let text = String::from_utf8_lossy(&text).into_owned();
                let retry_after =
                    answer.retry_after.and_then(|value| retry_after_ms(&value, &**host));
                return Err(error_of_status(operation, answer.status, text, retry_after));
            }
            let content_type = answer.content_type.as_deref();
            let is_accepted = |media_type: &MediaType| {
                request.accept.split(", ").any(|accepted| accepted == media_type.name())
            };
            if let Some(media_type) = content_type.and_then(MediaType::of).filter(is_accepted) {
                body.media_type = media_type;
                return Ok(body);
            }
            let beginning = match body.read_unless_idle().await {
                Ok(Ok(Some(chunk))) => excerpt(chunk),
                Ok(Err(error)) if error.is_closed() => return Err(error),
                // What it is says enough.
                _ => String::new(),
            };
            Err(Error::Protocol {
                operation,
                problem: format!(
                    "the answer from {url} is {}, not {}: {beginning}",
                    content_type.unwrap_or("of no stated type"),
                    request.accept,
                ),
                excerpt: beginning,
            }
            .into())
        })
    }
}
