use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request, rejection::JsonRejection},
    http::{StatusCode, request::Parts},
};
use serde::de::DeserializeOwned;

use super::error::ApiError;
use crate::output::StartAfter;

/// The most bytes of a request's body.
pub(super) const MAX_BODY: usize = 16 * 1024 * 1024;

/// A request's body as JSON. What is wrong with it is told in JSON too.
#[derive(Debug)]
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        match axum::Json::<T>::from_request(request, state).await {
            Ok(axum::Json(value)) => Ok(Self(value)),
            Err(rejection) => Err(refuse(&rejection)),
        }
    }
}

/// A body that may be left out, and is JSON otherwise.
#[derive(Debug)]
pub(crate) struct OptionalJsonBody<T>(#[allow(dead_code)] pub(super) Option<T>);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for OptionalJsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let body = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| too_large(rejection.status(), &rejection.body_text()))?;
        if body.is_empty() {
            return Ok(Self(None));
        }
        match serde_json::from_slice(&body) {
            Ok(value) => Ok(Self(Some(value))),
            Err(error) => Err(ApiError::bad_request(format!(
                "the body is not the JSON that is expected here: {error}"
            ))),
        }
    }
}

fn refuse(rejection: &JsonRejection) -> ApiError {
    let (status, detail) = (rejection.status(), rejection.body_text());
    match rejection {
        JsonRejection::MissingJsonContentType(_) => ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the body must be JSON, sent with Content-Type: application/json",
        ),
        JsonRejection::JsonDataError(_) | JsonRejection::JsonSyntaxError(_) => {
            ApiError::bad_request(detail)
        }
        _ => too_large(status, &detail),
    }
}

fn too_large(status: StatusCode, detail: &str) -> ApiError {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let limit = MAX_BODY / 1024 / 1024;
        return ApiError::new(status, format!("the body is larger than {limit} MiB"));
    }
    ApiError::new(status, detail)
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
