//! A process as it is now.

use super::answer::ScriptAnswer;
use super::script::sh;
use super::target::ScriptCall;
use super::{Background, BackgroundProcess, ProcessId};
use crate::Call;

impl Background {
    /// A process as it is now.
    pub fn get(&self, id: ProcessId) -> Call<BackgroundProcess> {
        let script = self.location.script_of(&id).part(sh!("get"));
        self.ask(ScriptCall::new("get process", id), script, read_report)
    }
}

/// The one process that a script reports.
pub(super) fn read_report(answer: &ScriptAnswer<'_>) -> Option<BackgroundProcess> {
    BackgroundProcess::read(
        answer.section("home")?,
        answer.section("state")?,
        answer.section("meta")?,
    )
}
