use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{
            ACCEPT, ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
            ETAG, IF_RANGE, LAST_MODIFIED, RANGE, VARY, X_CONTENT_TYPE_OPTIONS,
        },
    },
    response::{IntoResponse, Response},
};

use super::range::{Part, part};
use crate::{files::OpenFile, http::error::ApiError};

pub(super) const OCTET_STREAM: &str = "application/octet-stream";

/// Whether a request asks for a file's bytes rather than for anything else (RFC 9110, 12.5.1).
pub(super) fn is_asked_for(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f32>().ok());
        (quality.unwrap_or(1.0), media_type.eq_ignore_ascii_case(OCTET_STREAM))
    });
    // Of those that are wanted as much the first one counts.
    let best = ranges.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.is_some_and(|(quality, is_raw)| is_raw && quality > 0.0)
}

/// Answers with the bytes of a file, or the part of them that is asked for.
pub(super) fn respond(file: OpenFile, request: &HeaderMap) -> Result<Response, ApiError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(OCTET_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    // No browser is to take it for a page of the agent's.
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let (Some(size), Some(tag)) = (file.size(), file.tag()) else {
        return Ok((headers, Body::from_stream(file.chunks(None))).into_response());
    };
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    headers.insert(LAST_MODIFIED, value(&httpdate::fmt_http_date(file.modified().nearest()))?);
    headers.insert(ETAG, value(&tag)?);
    let text = |name| request.get(name).and_then(|value| value.to_str().ok());
    let range = text(RANGE);
    // RFC 9110, 13.1.5: where that is another state of the file, it is sent whole.
    let is_same = !request.contains_key(IF_RANGE) || text(IF_RANGE) == Some(&tag);
    let range = range.filter(|_| is_same);
    let (status, part) = match range.map_or(Part::Whole, |range| part(range, size)) {
        Part::Whole => (StatusCode::OK, 0..size),
        Part::Bytes(part) => {
            let shown = format!("bytes {}-{}/{size}", part.start, part.end - 1);
            headers.insert(CONTENT_RANGE, value(&shown)?);
            (StatusCode::PARTIAL_CONTENT, part)
        }
        Part::Unsatisfiable => {
            let message = format!("the file has {size} bytes, and none of the range");
            let status = StatusCode::RANGE_NOT_SATISFIABLE;
            let mut response = ApiError::new(status, message).into_response();
            response.headers_mut().insert(CONTENT_RANGE, value(&format!("bytes */{size}"))?);
            return Ok(response);
        }
    };
    headers.insert(CONTENT_LENGTH, (part.end - part.start).into());
    Ok((status, headers, Body::from_stream(file.chunks(Some(part)))).into_response())
}

fn value(text: &str) -> Result<HeaderValue, ApiError> {
    HeaderValue::from_str(text).map_err(ApiError::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_given_where_they_are_the_first_choice() {
        let asked = |accept: &'static str| {
            is_asked_for(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
        };
        assert!(asked("application/octet-stream"));
        assert!(asked("Application/Octet-Stream, application/json;q=0.9"));
        assert!(asked("application/json;q=0.5, application/octet-stream;q=0.8"));
        assert!(!asked("application/json, application/octet-stream"));
        assert!(!asked("*/*"));
        assert!(!asked("application/octet-stream;q=0"));
        assert!(!is_asked_for(&HeaderMap::new()));
    }
}
