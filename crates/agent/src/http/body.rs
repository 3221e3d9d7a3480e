use std::{io, time::Duration};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, StatusCode, header::CONTENT_TYPE, request::Parts},
};
use futures_util::{Stream, StreamExt, stream};
use nix::errno::Errno;
use serde::de::DeserializeOwned;
use tokio::{runtime::Handle, time::timeout};

use super::error::ApiError;
use crate::{output::StartAfter, process::Memory};

/// The most bytes of a request's body.
pub(super) const MAX_BODY: usize = 16 * 1024 * 1024;
/// The most bytes that are read of a larger one.
const MAX_READ: usize = 4 * MAX_BODY;

/// The size from which on a body is kept only where there is memory for it.
const LARGE_BODY: usize = 1024 * 1024;
/// How much memory it takes at most then: the body as it grows, and what is made of it.
const LARGE_BODY_MEMORY: usize = 4 * MAX_BODY;
/// How long a client may send nothing of a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// A request's body as JSON. What is wrong with it is told in JSON too.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let is_json = is_json(request.headers());
        let (body, _memory) = read(request.into_body()).await?;
        if !is_json {
            return Err(ApiError::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body must be JSON, sent with Content-Type: application/json",
            ));
        }
        parse(&body).map(Self)
    }
}

/// A body that may be left out, and is JSON otherwise.
#[derive(Debug)]
pub(crate) struct OptionalJsonBody<T>(pub(crate) Option<T>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (body, _memory) = read(request.into_body()).await?;
        if body.is_empty() {
            return Ok(Self(None));
        }
        parse(&body).map(|value| Self(Some(value)))
    }
}

/// A request's body as it comes, of any length.
///
/// Of one that is dropped before its end the rest is read and thrown away: the connection of a client that is
/// still sending would otherwise be closed over its answer (RFC 9112, 9.6). The server gives that as long as it
/// gives the head of a request.
#[derive(Debug)]
pub(crate) struct RawBody(Option<BodyDataStream>);

impl RawBody {
    pub(super) fn new(body: Body) -> Self {
        Self(Some(body.into_data_stream()))
    }

    /// Its parts. A client that sends nothing of it for so long while it is being waited for is given up, with an error of the kind
    /// `TimedOut`.
    pub(super) fn chunks(self) -> impl Stream<Item = io::Result<Bytes>> + Send {
        stream::unfold(self, async |mut body| {
            let chunk = next(body.0.as_mut()?).await;
            if !matches!(chunk, Ok(Some(_))) {
                body.0 = None;
            }
            Some((chunk.transpose()?, body))
        })
    }
}

impl Drop for RawBody {
    fn drop(&mut self) {
        if let (Some(mut chunks), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn(async move {
                let mut length = 0;
                while let Ok(Some(chunk)) = next(&mut chunks).await {
                    length += chunk.len();
                    if length > MAX_READ {
                        break;
                    }
                }
            });
        }
    }
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| {
        ApiError::bad_request(format!("the body is not the JSON that is expected here: {error}"))
    })
}

fn is_json(headers: &HeaderMap) -> bool {
    is_of_type(headers, "application/json")
}

/// Whether a body is of this media type.
pub(super) fn is_of_type(headers: &HeaderMap, expected: &str) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = media_type.and_then(|value| value.split(';').next()).unwrap_or_default();
    essence.trim().eq_ignore_ascii_case(expected)
}

/// Reads a body, and of one that is too large, or for which there is no memory, some more than is kept: a
/// client that is still sending when the connection closes may never see the answer (RFC 9112, 9.6).
///
/// Also returns the memory for what is made of it.
pub(super) async fn read(body: Body) -> Result<(Vec<u8>, Option<Memory>), ApiError> {
    let mut chunks = body.into_data_stream();
    let mut kept = Vec::new();
    let mut length = 0;
    let mut memory = None;
    while let Some(chunk) = next(&mut chunks).await.map_err(|error| not_received(&error))? {
        length += chunk.len();
        if length > MAX_READ {
            break;
        }
        if length > LARGE_BODY && memory.is_none() {
            memory = Some(Memory::promise(LARGE_BODY_MEMORY));
        }
        if length > MAX_BODY || matches!(memory, Some(Err(_))) {
            kept = Vec::new();
        } else {
            kept.extend_from_slice(&chunk);
        }
    }
    if length > MAX_BODY {
        let limit = MAX_BODY / 1024 / 1024;
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {limit} MiB"),
        ));
    }
    Ok((kept, memory.transpose().map_err(no_memory)?))
}

pub(super) fn not_received(error: &io::Error) -> ApiError {
    let status = match error.kind() {
        io::ErrorKind::TimedOut => StatusCode::REQUEST_TIMEOUT,
        _ => StatusCode::BAD_REQUEST,
    };
    ApiError::new(status, error.to_string())
}

fn no_memory(errno: Errno) -> ApiError {
    let message = format!(
        "the agent has no memory for a body of more than {LARGE_BODY} bytes now ({}): hand the data over in \
         parts by standard input, or raise its limit (ulimit -v)",
        errno.desc()
    );
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message)
}

/// The next part of a body, if there is one.
async fn next(chunks: &mut BodyDataStream) -> io::Result<Option<Bytes>> {
    let chunk = timeout(BODY_TIMEOUT, chunks.next()).await.map_err(|_| {
        let seconds = BODY_TIMEOUT.as_secs();
        let message = format!("the body did not arrive: nothing of it came for {seconds} s");
        io::Error::new(io::ErrorKind::TimedOut, message)
    })?;
    chunk.transpose().map_err(|error| io::Error::other(format!("the body did not arrive: {error}")))
}

/// The query of a request for output: `lastSequence`.
impl<S: Send + Sync> FromRequestParts<S> for StartAfter {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = Query::from_request_parts(parts, state).await?;
        let Some(text) = query.get("lastSequence") else {
            return Ok(Self::default());
        };
        let number = text.parse().map_err(|_| {
            ApiError::bad_request(format!("lastSequence is {text:?}: it must be an integer"))
        })?;
        Ok(Self(number))
    }
}

/// The query of a request.
#[derive(Debug)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a name that may be given more than once.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// What is true or false.
    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, ApiError> {
        let Some(text) = self.get(name) else {
            return Ok(None);
        };
        let flag = text.parse().map_err(|_| {
            ApiError::bad_request(format!("{name} is {text:?}: it is true or false"))
        })?;
        Ok(Some(flag))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(pairs)| Self(pairs))
            // The query may hold a token: it is not repeated.
            .map_err(|_| ApiError::bad_request("the query is not well formed"))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::stream;
    use tokio::time::{Instant, sleep};

    use super::*;

    /// A body of so many parts, one each 29 s, that ends or only stalls.
    fn slow(parts: usize, ends: bool) -> Body {
        let parts = stream::iter(0..parts).then(async |_| {
            sleep(Duration::from_secs(29)).await;
            Ok::<_, io::Error>(Bytes::from("x"))
        });
        let end = stream::pending().take_until(async move {
            if !ends {
                std::future::pending::<()>().await;
            }
        });
        Body::from_stream(parts.chain(end))
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_slow_is_read_and_one_that_stalls_is_given_up() {
        assert_eq!(read(slow(100, true)).await.unwrap().0.len(), 100);
        let start = Instant::now();
        let error = read(slow(2, false)).await.unwrap_err();
        assert_eq!(error.status(), StatusCode::REQUEST_TIMEOUT);
        assert!(error.into_message().contains("30 s"));
        assert_eq!(start.elapsed().as_secs(), 2 * 29 + 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_raw_body_has_all_the_time_while_nobody_waits_for_it() {
        let mut chunks = pin!(RawBody::new(slow(2, false)).chunks());
        for _ in 0..2 {
            assert_eq!(chunks.next().await.unwrap().unwrap(), "x");
            sleep(BODY_TIMEOUT * 100).await;
        }
        let error = chunks.next().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(chunks.next().await.is_none());
    }
}
