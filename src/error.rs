//! Why a call was refused or failed, and how JS is told.

use js_sys::Reflect;
use wasm_bindgen::prelude::*;

use crate::request::Operation;

/// The `name` of the JS error that carries a failure out of the core. The package turns it into the
/// error class that its `code` stands for.
const FAILURE: &str = "SandpipeFailure";

/// Everything that a call can fail with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{operation}: the agent answered {status}{}", explain(.message.as_deref()))]
    Http {
        operation: Operation,
        status: u16,
        /// The reason that the agent gave.
        message: Option<String>,
        body: String,
    },
    #[error("{operation}: no answer from {url}: {reason}")]
    Network { operation: Operation, url: String, reason: String, cause: JsValue },
    #[error("{operation}: {problem}")]
    Protocol { operation: Operation, problem: String, excerpt: String },
    #[error(
        "the output of exec {exec_id} ended without an exit code: what became of the command is not known"
    )]
    ExitCodeMissing {
        exec_id: String,
        output: JsValue,
        /// What ended it, if that is known.
        cause: JsValue,
    },
    #[error(
        "events {from} to {to} of exec {exec_id} are lost: the agent does not have them any more"
    )]
    OutputLost { exec_id: String, from: u64, to: u64 },
    #[error(
        "the output of exec {exec_id} is longer than a JS string can be ({limit} UTF-16 code units)"
    )]
    OutputLimit { exec_id: String, limit: u32, output: JsValue },
    #[error("`{name}` must be {expected}, but is {actual}")]
    InvalidArgument { name: String, expected: String, actual: String },
    #[error("this sandbox is closed")]
    Closed,
    /// What a function of the caller's threw, or the reason that it gave for an abort. It goes
    /// through as it is.
    #[error("thrown by the caller")]
    Thrown(JsValue),
}

pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The machine-readable code of `api.md`.
    fn code(&self) -> &'static str {
        match self {
            Self::Http { .. } => "http",
            Self::Network { .. } => "network",
            Self::Protocol { .. } => "protocol",
            Self::ExitCodeMissing { .. } => "exit_code_missing",
            Self::OutputLost { .. } => "output_lost",
            Self::OutputLimit { .. } => "output_limit",
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::Closed => "closed",
            Self::Thrown(_) => "thrown",
        }
    }

    /// What to do about it.
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http { status: 401, .. } => {
                "Pass the agent's token to connect() as `token`.".into()
            }
            Self::Http { status: 403, .. } => {
                "Use the agent's admin token: a read-only one may only look.".into()
            }
            Self::Http { status: 404, message: None, .. } | Self::Protocol { .. } => {
                "Check that the `url` given to connect() is an agent's, without /api.".into()
            }
            Self::Network { .. } => {
                "Check that the agent runs and that the `url` given to connect() is its address; \
                 in a browser also that the agent allows this page's origin (--allow-origin)."
                    .into()
            }
            Self::ExitCodeMissing { exec_id, .. } => {
                format!("Ask again with execs.wait(\"{exec_id}\").")
            }
            Self::OutputLost { .. } => {
                "Raise the agent's --spool-limit, or read the output while the command runs.".into()
            }
            Self::OutputLimit { exec_id, .. } => {
                format!("Read it piece by piece with execs.streamOutput(\"{exec_id}\").")
            }
            Self::Closed => "Make another with connect().".into(),
            Self::Http { .. } | Self::InvalidArgument { .. } | Self::Thrown(_) => return None,
        };
        Some(hint)
    }

    /// The fields of the error class beside `code`, `message`, `hint` and `cause`.
    fn fields(self) -> (Vec<(&'static str, JsValue)>, JsValue) {
        match self {
            Self::Http { operation, status, body, .. } => (
                vec![
                    ("status", status.into()),
                    ("operation", operation.to_string().into()),
                    ("body", body.into()),
                ],
                JsValue::UNDEFINED,
            ),
            Self::Network { operation, cause, .. } => {
                (vec![("status", 0.into()), ("operation", operation.to_string().into())], cause)
            }
            Self::Protocol { excerpt, .. } => {
                (vec![("excerpt", excerpt.into())], JsValue::UNDEFINED)
            }
            Self::ExitCodeMissing { exec_id, output, cause } => {
                (vec![("execId", exec_id.into()), ("output", output)], cause)
            }
            Self::OutputLost { exec_id, from, to } => (
                vec![("execId", exec_id.into()), ("from", to_number(from)), ("to", to_number(to))],
                JsValue::UNDEFINED,
            ),
            Self::OutputLimit { exec_id, output, .. } => {
                (vec![("execId", exec_id.into()), ("output", output)], JsValue::UNDEFINED)
            }
            Self::InvalidArgument { .. } | Self::Closed | Self::Thrown(_) => {
                (Vec::new(), JsValue::UNDEFINED)
            }
        }
    }
}

impl From<Error> for JsValue {
    fn from(error: Error) -> Self {
        if let Error::Thrown(value) = error {
            return value;
        }
        let hint = error.hint();
        let message = match &hint {
            Some(hint) => format!("{error}. {hint}"),
            None => error.to_string(),
        };
        let failure = js_sys::Error::new(&message);
        failure.set_name(FAILURE);
        let set = |name: &str, value: &JsValue| {
            // It always can: `failure` is an ordinary, extensible object.
            Reflect::set(&failure, &name.into(), value).is_ok_and(|set| set)
        };
        set("code", &error.code().into());
        if let Some(hint) = hint {
            set("hint", &hint.into());
        }
        let (fields, cause) = error.fields();
        for (name, value) in fields {
            set(name, &value);
        }
        if !cause.is_undefined() {
            set("cause", &cause);
        }
        failure.into()
    }
}

fn explain(message: Option<&str>) -> String {
    message.map_or_else(String::new, |message| format!(": {message}"))
}

/// Sequence numbers stay far below 2^53, up to which a JS number is exact.
#[allow(clippy::cast_precision_loss)]
fn to_number(sequence: u64) -> JsValue {
    JsValue::from_f64(sequence as f64)
}
