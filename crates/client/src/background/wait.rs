//! Waiting for the end of a process.

use super::duration::{Slice, whole_milliseconds};
use super::get::read_report;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::script::sh;
use super::target::{ScriptCall, Target};
use crate::abort::AbortSignal;
use crate::error::Result;

/// How long to wait.
#[derive(Debug)]
pub struct WaitOptions {
    /// In milliseconds.
    pub timeout_ms: f64,
    /// Aborted: the wait ends, and the process goes on.
    pub signal: Option<AbortSignal>,
}

/// Waits on the target, slice by slice, so that nothing is asked again and again from here.
pub(super) async fn wait(
    target: &Target,
    location: &Location,
    id: &ProcessId,
    options: &WaitOptions,
) -> Result<Process> {
    let purpose = ScriptCall { operation: "wait for process", id: Some(id) };
    let deadline = target.now_ms() + options.timeout_ms;
    loop {
        let slice = Slice::until(deadline - target.now_ms());
        let script = location
            .script_of(id)
            .word("wait", &whole_milliseconds(slice.milliseconds).to_string())
            .word("last", if slice.is_last { "1" } else { "" })
            .part(sh!("pause"))
            .part(sh!("reader"))
            .part(sh!("wait"));
        let answer = target.ask_until(purpose, &script, options.signal.as_ref(), |answer| {
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
