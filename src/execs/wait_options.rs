use js_sys::Function;
use wasm_bindgen::JsValue;

use super::stop_requests::StopRequests;
use crate::arguments::{Fields, bytes, function, milliseconds};
use crate::error::Result;

/// How long a process may take to end after SIGTERM, in milliseconds.
const GRACE: f64 = 10_000.0;

/// How to follow an exec to its end: what `exec` and `wait` both take.
#[derive(Debug)]
pub(super) struct WaitOptions {
    pub(super) on_output: Option<Function>,
    pub(super) max_output_bytes: Option<u64>,
    pub(super) grace_ms: f64,
    pub(super) stops: StopRequests,
}

impl WaitOptions {
    /// The names of the fields that it has.
    pub(super) const NAMES: [&str; 6] =
        ["signal", "forceSignal", "timeoutMs", "graceMs", "onOutput", "maxOutputBytes"];

    /// Reads the options of `wait`.
    pub(super) fn of(value: &JsValue) -> Result<Self> {
        let fields = Fields::of_optional(value, "options")?;
        fields.only(&Self::NAMES)?;
        Self::read(&fields)
    }

    pub(super) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            on_output: fields.optional("onOutput", function)?,
            max_output_bytes: fields.optional("maxOutputBytes", bytes)?,
            grace_ms: grace(fields)?,
            stops: StopRequests::read(fields)?,
        })
    }
}

/// Reads `graceMs`.
pub(super) fn grace(fields: &Fields<'_>) -> Result<f64> {
    Ok(fields.optional("graceMs", milliseconds)?.unwrap_or(GRACE))
}
