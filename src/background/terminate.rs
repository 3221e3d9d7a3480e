use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Background;
use super::get::read_report;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::runtime::{Purpose, Runtime};
use super::script::sh;
use crate::arguments::{Fields, milliseconds};
use crate::promise::promise;
use crate::value::to_js;
use sandpipe_client::error::Result;

/// How long a process may take to end after SIGTERM, in milliseconds.
pub(super) const GRACE_MS: f64 = 10_000.0;

#[wasm_bindgen]
impl Background {
    /// Stops the process group of a process and waits until it is gone. Resolves the process.
    pub fn terminate(&self, id: &JsValue, options: &JsValue) -> Promise {
        let arguments = ProcessId::read(id).and_then(|id| Ok((id, read_grace(options)?)));
        let Self { runtime, location } = self.clone();
        promise(async move {
            let (id, grace_ms) = arguments?;
            to_js(&terminate(&runtime, &location, &id, grace_ms).await?)
        })
    }
}

fn read_grace(options: &JsValue) -> Result<f64> {
    let fields = Fields::of_optional(options, "options")?;
    fields.only(&["graceMs"])?;
    Ok(fields.optional("graceMs", milliseconds)?.unwrap_or(GRACE_MS))
}

async fn terminate(
    runtime: &Runtime,
    location: &Location,
    id: &ProcessId,
    grace_ms: f64,
) -> Result<Process> {
    let purpose = Purpose { operation: "terminate process", id: Some(id) };
    let script = location
        .script_of(id)
        .word("grace", &whole_milliseconds(grace_ms).to_string())
        .part(sh!("pause"))
        .part(sh!("conclude"))
        .part(sh!("terminate"));
    runtime.ask(purpose, &script, read_report).await
}

/// A duration as a shell can count with it; more than that is for ever.
pub(super) fn whole_milliseconds(milliseconds: f64) -> u32 {
    // The cast keeps to the range, and the shell's numbers are signed.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let whole = milliseconds.ceil() as u32;
    whole.min(i32::MAX as u32)
}
