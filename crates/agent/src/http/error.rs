use axum::{
    Extension, Json,
    extract::FromRequestParts,
    http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE, request::Parts},
    response::{IntoResponse, Response},
};
use sandpipe_protocol::{ErrorBody, Gap, UploadProgress};
use serde::Serialize;

use crate::{
    execs::{CreateError, DeleteError, InputError, SignalError, StartError},
    process::SpawnError,
    walls::NarrowerError,
    worker::WorkerError,
};

/// An error answer: a status, and a message that says what was wrong and with which value.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    message: String,
    gap: Option<Gap>,
    upload: Option<UploadProgress>,
}

/// The body of an error answer.
#[derive(Serialize)]
struct Body {
    #[serde(flatten)]
    error: ErrorBody,
    /// Which, where events are what is wrong.
    #[serde(flatten)]
    gap: Option<Gap>,
    /// How much of an upload there is.
    #[serde(flatten)]
    upload: Option<UploadProgress>,
}

/// Takes what the check of the token has found. Without it nothing is done.
pub(super) async fn extension<T: Clone + Send + Sync + 'static>(
    parts: &mut Parts,
) -> Result<Extension<T>, ApiError> {
    Extension::from_request_parts(parts, &()).await.map_err(ApiError::internal)
}

/// Says that events were dropped, and why: output could not be written to disk, or was too much for it.
pub(super) fn lost(gap: Gap, failure: Option<String>) -> String {
    let Gap { from, to } = gap;
    let why =
        failure.unwrap_or_else(|| "the agent keeps the newest output up to --spool-limit".into());
    format!("the events {from} to {to} are lost: {why}")
}

impl ApiError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), gap: None, upload: None }
    }

    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn lost(gap: Gap, failure: Option<String>) -> Self {
        Self { gap: Some(gap), ..Self::new(StatusCode::GONE, lost(gap, failure)) }
    }

    /// That a piece of an upload does not follow.
    pub(super) fn of_upload(message: String, upload: UploadProgress) -> Self {
        Self { upload: Some(upload), ..Self::new(StatusCode::CONFLICT, message) }
    }

    pub(super) fn no_exec(id: &str) -> Self {
        let message = format!(
            "there is no exec {id:?}: it was deleted, has ended and made room for others (--keep-execs, --keep-for, \
             --spool-total), or is another agent's"
        );
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn into_message(self) -> String {
        self.message
    }

    pub(super) fn internal(error: impl std::fmt::Display) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::warn!(status = self.status.as_u16(), message = self.message, "refused");
        }
        let error = ErrorBody { code: self.status.as_u16(), message: self.message };
        let body = Body { error, gap: self.gap, upload: self.upload };
        let mut response = (self.status, Json(body)).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            // RFC 9110, 15.5.2: the server "MUST send a WWW-Authenticate header field".
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<SpawnError> for ApiError {
    fn from(error: SpawnError) -> Self {
        match error {
            SpawnError::Invalid(_) => Self::bad_request(error.to_string()),
            SpawnError::SetUp(_) | SpawnError::NoBox(_) => Self::internal(error),
            SpawnError::NoRoom { .. }
            | SpawnError::LimitOfProcesses(_)
            | SpawnError::TooManyDescriptors(_) => {
                Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
            }
        }
    }
}

impl From<StartError> for ApiError {
    fn from(error: StartError) -> Self {
        let status = match error {
            StartError::Spawn(error) => return error.into(),
            StartError::NotStartable { .. } => StatusCode::CONFLICT,
            StartError::Deleted(_) => StatusCode::NOT_FOUND,
            StartError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            StartError::Panic => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<CreateError> for ApiError {
    fn from(error: CreateError) -> Self {
        let status = match error {
            CreateError::Start(error) => return error.into(),
            CreateError::Invalid(_) | CreateError::NoPolicies => StatusCode::BAD_REQUEST,
            CreateError::Policy(ref error) => match error {
                NarrowerError::Wider(_) => StatusCode::FORBIDDEN,
                NarrowerError::TooMany => StatusCode::SERVICE_UNAVAILABLE,
                error if error.is_lack() => StatusCode::INTERNAL_SERVER_ERROR,
                NarrowerError::Invalid(_) | NarrowerError::Unheld(_) => StatusCode::BAD_REQUEST,
            },
            CreateError::TooLargeToWait(_) => StatusCode::PAYLOAD_TOO_LARGE,
            CreateError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            CreateError::KeyReused(_) => StatusCode::UNPROCESSABLE_ENTITY,
            CreateError::Deleted(_) => StatusCode::CONFLICT,
            CreateError::Id(_)
            | CreateError::Panic
            | CreateError::Remove(_)
            | CreateError::Request(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<WorkerError> for ApiError {
    fn from(error: WorkerError) -> Self {
        let status = match &error {
            WorkerError::Failed(failure) => failure.kind.status(),
            WorkerError::NotStarted(_) => StatusCode::INTERNAL_SERVER_ERROR,
            WorkerError::NoRoom(_)
            | WorkerError::TooMany(_)
            | WorkerError::TooManyTrees(_)
            | WorkerError::Ended
            | WorkerError::Stopping => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

impl From<DeleteError> for ApiError {
    fn from(error: DeleteError) -> Self {
        let status = match error {
            DeleteError::Gone(_) => StatusCode::NOT_FOUND,
            DeleteError::Kill { .. } | DeleteError::Stuck { .. } | DeleteError::Remove(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        Self::new(status, error.to_string())
    }
}

impl From<SignalError> for ApiError {
    fn from(error: SignalError) -> Self {
        let status = match error {
            SignalError::Unknown(_) => StatusCode::BAD_REQUEST,
            SignalError::NotStarted(_) | SignalError::Gone(_) => StatusCode::CONFLICT,
            SignalError::Refused { .. } => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

impl From<InputError> for ApiError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Resize { .. } => Self::internal(error),
            // Not 400, by which a client knows that the process reads no more.
            InputError::Incomplete(_) => Self::new(StatusCode::REQUEST_TIMEOUT, error.to_string()),
            InputError::Full(_) => Self::new(StatusCode::TOO_MANY_REQUESTS, error.to_string()),
            _ => Self::bad_request(error.to_string()),
        }
    }
}
