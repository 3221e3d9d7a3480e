use js_sys::{Date, Promise};
use wasm_bindgen::prelude::*;
use web_sys::AbortSignal;

use super::Background;
use super::get::read_report;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::runtime::{Purpose, Runtime};
use super::script::sh;
use super::terminate::whole_milliseconds;
use crate::arguments::{Fields, abort_signal, milliseconds};
use crate::promise::promise;
use crate::value::to_js;
use sandpipe_client::error::Result;

/// How long one script waits on the target, in milliseconds: a connection on which nothing comes for
/// longer may be taken for dead.
pub(super) const SLICE_MS: f64 = 20_000.0;

#[wasm_bindgen]
impl Background {
    /// Waits for the end of a process. Resolves the process, which still runs if `timeoutMs` passed.
    pub fn wait(&self, id: &JsValue, options: &JsValue) -> Promise {
        let arguments = ProcessId::read(id).and_then(|id| Ok((id, WaitOptions::read(options)?)));
        let Self { runtime, location } = self.clone();
        promise(async move {
            let (id, options) = arguments?;
            to_js(&wait(&runtime, &location, &id, &options).await?)
        })
    }
}

/// How long to wait.
#[derive(Debug)]
pub(super) struct WaitOptions {
    pub(super) timeout_ms: f64,
    pub(super) signal: Option<AbortSignal>,
}

impl WaitOptions {
    fn read(options: &JsValue) -> Result<Self> {
        let fields = Fields::of_optional(options, "options")?;
        fields.only(&["timeoutMs", "signal"])?;
        Ok(Self {
            timeout_ms: fields.optional("timeoutMs", milliseconds)?.unwrap_or(f64::INFINITY),
            signal: fields.optional("signal", abort_signal)?,
        })
    }
}

/// Waits on the target, slice by slice, so that nothing is asked again and again from here.
pub(super) async fn wait(
    runtime: &Runtime,
    location: &Location,
    id: &ProcessId,
    options: &WaitOptions,
) -> Result<Process> {
    let purpose = Purpose { operation: "wait for process", id: Some(id) };
    let deadline = Date::now() + options.timeout_ms;
    loop {
        let slice = Slice::until(deadline - Date::now());
        let script = location
            .script_of(id)
            .word("wait", &whole_milliseconds(slice.milliseconds).to_string())
            .word("last", if slice.is_last { "1" } else { "" })
            .part(sh!("pause"))
            .part(sh!("reader"))
            .part(sh!("wait"));
        let answer = runtime.ask_until(purpose, &script, options.signal.as_ref(), |answer| {
            match answer.section("waiting") {
                Some(_) => Some(None),
                None => read_report(answer).map(Some),
            }
        });
        if let Some(process) = answer.await? {
            return Ok(process);
        }
    }
}

/// A part of a wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slice {
    pub(super) milliseconds: f64,
    pub(super) is_last: bool,
}

impl Slice {
    /// The next one, when there is so much left to wait.
    pub(super) fn until(left_ms: f64) -> Self {
        Self { milliseconds: left_ms.clamp(0.0, SLICE_MS), is_last: left_ms <= SLICE_MS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_cut_into_slices_of_which_one_is_the_last() {
        let slice = |milliseconds, is_last| Slice { milliseconds, is_last };
        assert_eq!(Slice::until(f64::INFINITY), slice(SLICE_MS, false));
        assert_eq!(Slice::until(SLICE_MS + 1.0), slice(SLICE_MS, false));
        assert_eq!(Slice::until(5.0), slice(5.0, true));
        assert_eq!(Slice::until(-1.0), slice(0.0, true));
    }
}
