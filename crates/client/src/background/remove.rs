//! Removing a process that has ended.

use super::script::sh;
use super::target::ScriptCall;
use super::{Background, ProcessId};
use crate::Call;

impl Background {
    /// Removes a process that has ended, with its output.
    pub fn remove(&self, id: ProcessId) -> Call<()> {
        let script = self.location.script_of(&id).part(sh!("pause")).part(sh!("remove"));
        self.ask(ScriptCall::new("remove process", id), script, |answer| {
            answer.section("removed").map(drop)
        })
    }
}
