//! What the client needs of its surroundings: one trait, and the types that cross it.

use std::fmt;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_util::future::LocalBoxFuture;
use sandpipe_text::Units;

use crate::{AbortSignal, HostOutput, HostValue};

/// What the client needs of its surroundings. Everything runs on one thread; nothing is `Send`.
///
/// It is used as `Rc<dyn Host>`: the client is compiled once, and no type of it has a parameter for its host.
pub trait Host {
    /// Sends a request. It ends when `request.cancel` is aborted, and when the future or the body is dropped.
    ///
    /// The host adds the headers of the caller's, the token among them.
    fn send(
        &self,
        request: HttpRequest,
    ) -> LocalBoxFuture<'static, Result<HttpResponse, NoResponse>>;

    /// Opens a WebSocket; None where it did not open: nobody is told why.
    fn open_socket(&self, url: &str) -> LocalBoxFuture<'static, Option<Box<dyn Socket>>>;

    /// Waits so many milliseconds from this call on, not from the first poll; for ever if they are infinite.
    fn sleep(&self, ms: f64) -> LocalBoxFuture<'static, ()>;

    /// Milliseconds of a clock that never goes back.
    fn now_ms(&self) -> f64;

    /// How many milliseconds are left until an HTTP date (RFC 9110, 5.6.7) by the system's clock, at least 0; None
    /// for what is no date.
    fn ms_until(&self, http_date: &str) -> Option<f64>;

    /// Random bytes of a cryptographic source: keys and nonces are made of them, too.
    fn random_bytes(&self) -> [u8; 16];

    /// Runs a task to its end.
    fn spawn(&self, task: LocalBoxFuture<'static, ()>);

    /// The same for what is as good as over: it is dropped after `limit_ms`, and no reason for a process to stay.
    fn linger(&self, task: LocalBoxFuture<'static, ()>, limit_ms: u32);

    /// `text` with `more` behind it, kept where memory can be freed: that of a WebAssembly module never shrinks.
    /// It may be called while the client's state is borrowed: it must not call the client, nor code of the caller's.
    fn append_text(&self, text: &HostOutput, more: Units<'_>) -> Result<HostOutput, HostValue>;

    /// The same of bytes: `bytes` with `more` behind them. What is given is the only one that is appended to again.
    fn append_bytes(&self, bytes: &HostOutput, more: &[u8]) -> Result<HostOutput, HostValue>;

    /// The most UTF-16 code units of a text.
    fn max_text_length(&self) -> u32;

    /// How many bytes of a file are asked for by one request, at least 1. A host that reads an answer ahead, whoever takes
    /// it, holds up to so many.
    fn max_range_bytes(&self) -> u64;
}

/// What a request does to the resource that its URL names (RFC 9110, 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads it, and changes nothing.
    Get,
    /// Has it do something.
    Post,
    /// Writes it.
    Put,
    /// Changes it.
    Patch,
    /// Removes it.
    Delete,
}

impl Method {
    /// The name of the method in a request.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// A request to be sent.
#[derive(Clone)]
pub struct HttpRequest {
    /// What it does to the resource.
    pub method: Method,
    /// The whole address.
    pub url: String,
    /// The header `Accept`.
    pub accept: &'static str,
    /// The header `Idempotency-Key`.
    pub idempotency_key: Option<String>,
    /// Other headers, by names in lower case.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Option<RequestBody>,
    /// Aborted: the request ends, and so does the reading of its answer.
    pub cancel: AbortSignal,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestBody {
    /// `application/json`.
    Json(String),
    /// `application/octet-stream`.
    Bytes(Rc<[u8]>),
    /// `application/x-tar`.
    Tar(TarSource),
}

/// Opens a stream of the host's, which has the same bytes each time: once for each request.
#[derive(Clone)]
pub struct TarSource(pub Rc<dyn Fn() -> Result<HostValue, HostValue>>);

impl PartialEq for TarSource {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for TarSource {}

impl fmt::Debug for TarSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TarSource")
    }
}

/// The head of an answer; the body is still to be read.
pub struct HttpResponse {
    /// The status (RFC 9110, 15).
    pub status: u16,
    /// The header `Content-Type`.
    pub content_type: Option<String>,
    /// The header `Retry-After`. May be left out where the status is 2xx.
    pub retry_after: Option<String>,
    /// What the answer says of a file. May be left out where the `Content-Type` is not `application/octet-stream`.
    pub file: FileHead,
    /// None where there is no body, as with 204.
    pub body: Option<Box<dyn Body>>,
}

/// What an answer with bytes of a file says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileHead {
    /// The header `ETag` (RFC 9110, 8.8.3): it is another one when the file is another.
    pub etag: Option<String>,
    /// The header `Content-Range` (RFC 9110, 14.4).
    pub content_range: Option<String>,
    /// The header `Content-Length` (RFC 9110, 8.6).
    pub content_length: Option<String>,
}

/// The body of an answer. Dropping it before all of it has come closes the connection.
pub trait Body {
    /// Reads the next chunk in place of what is in `chunk`; it is empty at the end. A read that is given up, and is
    /// begun again later, has lost nothing.
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut Vec<u8>,
    ) -> Poll<Result<(), NoResponse>>;

    /// The process may end although the rest has not come.
    fn unref(&mut self) {}
}

/// An open WebSocket with one owner. Dropping it closes it.
pub trait Socket {
    /// What comes next. Nothing comes after [`SocketMessage::Closed`].
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<SocketMessage>;

    /// Sends a text frame; says whether it is on its way. Whether it arrives nobody is told.
    fn send(&mut self, text: &str) -> bool;
}

/// What comes over a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketMessage {
    /// A text frame.
    Text(String),
    /// A frame that is no text; what it has is not looked at.
    NotText,
    /// The last that comes.
    Closed {
        /// The other side closed it as it wished.
        clean: bool,
    },
}

/// Why there is no answer, or no more of one.
#[derive(Clone)]
pub struct NoResponse {
    /// In words, for messages.
    pub reason: String,
    /// There was no connection, so that the agent can't have seen the request.
    pub never_sent: bool,
    /// What the host's own function threw.
    pub cause: Option<HostValue>,
}
