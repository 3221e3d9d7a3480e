use axum::{
    extract::FromRequestParts,
    http::{HeaderName, request::Parts},
};

use crate::{
    execs::IdempotencyKey,
    features::Feature,
    http::{App, error::ApiError},
};

static HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The request's `Idempotency-Key`. Without the feature the header means nothing.
pub(crate) struct KeyHeader(pub(crate) Option<IdempotencyKey>);

impl FromRequestParts<App> for KeyHeader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let mut values = parts.headers.get_all(&HEADER).iter();
        let value = values.next().filter(|_| app.features.has(Feature::IdempotencyKey));
        let Some(value) = value else {
            return Ok(Self(None));
        };
        match IdempotencyKey::new(value.as_bytes()) {
            Some(key) if values.next().is_none() => Ok(Self(Some(key))),
            _ => Err(ApiError::bad_request(
                "Idempotency-Key must be one header of 1 to 255 visible ASCII characters, such as a \
                 UUID",
            )),
        }
    }
}
