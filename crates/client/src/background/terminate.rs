//! Stopping a process.

use super::duration::whole_milliseconds;
use super::get::read_report;
use super::script::sh;
use super::target::ScriptCall;
use super::{Background, BackgroundProcess, ProcessId};
use crate::Call;

impl Background {
    /// Stops the process group of a process and waits until it is gone.
    pub fn terminate(&self, id: ProcessId, grace_ms: f64) -> Call<BackgroundProcess> {
        let script = self
            .location
            .script_of(&id)
            .word("grace", &whole_milliseconds(grace_ms).to_string())
            .part(sh!("pause"))
            .part(sh!("conclude"))
            .part(sh!("terminate"));
        self.ask(ScriptCall::new("terminate process", id), script, read_report)
    }
}
