use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{
        HeaderName,
        header::{CACHE_CONTROL, CONTENT_TYPE},
    },
    response::{IntoResponse, Response},
};
use futures_util::stream;
use tokio::time::timeout;

use super::output_format::OutputFormat;

/// The `Cache-Control` of output: it may be more by the next time. It is not `no-store`, of which Chromium
/// shows many a request as aborted whose answer a page has read to its end.
pub(super) const NOT_CACHED: &str = "no-cache";

/// Where the bytes of a stream come from.
pub(super) trait Source: Send + 'static {
    /// Returns the next bytes; `None` ends the stream. Nothing may be lost when the future is dropped
    /// before it is done.
    fn next(&mut self) -> impl Future<Output = std::io::Result<Option<Bytes>>> + Send;
}

/// Answers with a stream of that form: these bytes at once, then what the source gives, and a sign of life
/// wherever there was silence for `ping_interval`. An error of the source cuts the connection, so that the
/// client does not take it for an end.
pub(super) fn respond(
    ping_interval: Duration,
    format: OutputFormat,
    first: Bytes,
    source: impl Source,
) -> Response {
    let first: Result<Bytes, std::io::Error> = Ok(first);
    let rest = stream::unfold(Some(source), move |source| async move {
        let mut source = source?;
        match timeout(ping_interval, source.next()).await {
            Err(_) => Some((Ok(format.ping()), Some(source))),
            Ok(Ok(Some(bytes))) => Some((Ok(bytes), Some(source))),
            Ok(Ok(None)) => None,
            Ok(Err(error)) => {
                tracing::error!(%error, "a stream was cut");
                Some((Err(error), None))
            }
        }
    });
    let first = stream::once(std::future::ready(first));
    let body = Body::from_stream(futures_util::StreamExt::chain(first, rest));
    let headers = [
        (CONTENT_TYPE, format.content_type()),
        (CACHE_CONTROL, NOT_CACHED),
        // nginx and its like would collect the answer first.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, body).into_response()
}
