//! Waiting for the end of a process.

use super::duration::{Slice, whole_milliseconds};
use super::get::read_report;
use super::script::sh;
use super::target::ScriptCall;
use super::{Background, BackgroundProcess, ProcessId};
use crate::{AbortSignal, Call, Result};

/// How long to wait.
pub struct BackgroundWaitOptions {
    /// In milliseconds.
    pub timeout_ms: f64,
    /// Aborted: the wait ends, and the process goes on.
    pub signal: Option<AbortSignal>,
}

/// End of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// End of the process.
    Exit,
    /// End of its output, too: the rest of its group may write until it is silent for 200 ms, 2 s at most.
    EndOfOutput,
}

impl Background {
    /// Waits for the end of a process, or for a time: on the target, slice by slice, so that nothing is asked again and
    /// again from here.
    pub fn wait(&self, id: ProcessId, options: BackgroundWaitOptions) -> Call<BackgroundProcess> {
        let background = self.clone();
        Box::pin(async move { background.wait_until(Until::Exit, &id, options).await })
    }

    /// Waits until a process has ended as `until` says, or for a time.
    pub(super) async fn wait_until(
        &self,
        until: Until,
        id: &ProcessId,
        options: BackgroundWaitOptions,
    ) -> Result<BackgroundProcess> {
        let deadline = self.now_ms() + options.timeout_ms;
        loop {
            let slice = Slice::until(deadline - self.now_ms());
            let waited = self.wait_once(until, id, slice, options.signal.as_ref()).await?;
            if let Some(process) = waited {
                return Ok(process);
            }
        }
    }

    async fn wait_once(
        &self,
        until: Until,
        id: &ProcessId,
        slice: Slice,
        signal: Option<&AbortSignal>,
    ) -> Result<Option<BackgroundProcess>> {
        let purpose = ScriptCall::new("wait for process", id.clone());
        let script = self
            .location
            .script_of(id)
            .word("wait", &whole_milliseconds(slice.milliseconds).to_string())
            .word("last", if slice.is_last { "1" } else { "" })
            .word("rest", if until == Until::EndOfOutput { "1" } else { "" })
            .part(sh!("pause"))
            .part(sh!("reader"))
            .part(sh!("rest"))
            .part(sh!("wait"));
        self.run_until(&purpose, &script, signal).await?.take(&purpose, |answer| {
            match answer.section("waiting") {
                Some(_) => Some(None),
                None => read_report(answer).map(Some),
            }
        })
    }
}
