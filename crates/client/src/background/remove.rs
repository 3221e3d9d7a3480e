//! Removing a process that has ended.

use super::background::Background;
use super::location::ProcessId;
use super::script::sh;
use super::target::ScriptCall;
use crate::call::Call;

impl Background {
    /// Removes a process that has ended, with its output.
    pub fn remove(&self, id: ProcessId) -> Call<()> {
        let script = self.location.script_of(&id).part(sh!("remove"));
        self.ask(ScriptCall::new("remove process", id), script, |answer| {
            answer.section("removed").map(drop)
        })
    }
}
