use js_sys::Function;
use wasm_bindgen::JsValue;
use web_sys::AbortSignal;

use super::stop_requests::StopRequests;
use crate::arguments::{Fields, bytes, function, milliseconds};
use sandpipe_client::error::Result;

/// How long a process may take to end after SIGTERM, in milliseconds.
const GRACE: f64 = 10_000.0;

/// How to follow an exec to its end: what `exec` and `wait` both take.
#[derive(Debug)]
pub(crate) struct WaitOptions {
    pub(crate) on_output: Option<Function>,
    pub(crate) max_output_bytes: Option<u64>,
    pub(crate) grace_ms: f64,
    pub(crate) stops: StopRequests,
}

impl WaitOptions {
    /// The names of the fields that it has.
    pub(crate) const NAMES: [&str; 6] =
        ["signal", "forceSignal", "timeoutMs", "graceMs", "onOutput", "maxOutputBytes"];

    /// Nothing but a signal that stops it.
    pub(super) fn until(signal: Option<AbortSignal>) -> Self {
        Self {
            on_output: None,
            max_output_bytes: None,
            grace_ms: GRACE,
            stops: StopRequests::until(signal),
        }
    }

    /// Reads the options of `wait`.
    pub(crate) fn of(value: &JsValue) -> Result<Self> {
        let fields = Fields::of_optional(value, "options")?;
        fields.only(&Self::NAMES)?;
        Self::read(&fields)
    }

    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            on_output: fields.optional("onOutput", function)?,
            max_output_bytes: fields.optional("maxOutputBytes", bytes)?,
            grace_ms: grace(fields)?,
            stops: StopRequests::read(fields)?,
        })
    }
}

/// Reads `graceMs`.
pub(crate) fn grace(fields: &Fields<'_>) -> Result<f64> {
    Ok(fields.optional("graceMs", milliseconds)?.unwrap_or(GRACE))
}
