use super::answer::Answer;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::script::sh;
use super::target::{ScriptCall, Target};
use crate::error::Result;

pub(super) async fn get(target: &Target, location: &Location, id: &ProcessId) -> Result<Process> {
    let purpose = ScriptCall { operation: "get process", id: Some(id) };
    let script = location.script_of(id).part(sh!("get"));
    target.ask(purpose, &script, read_report).await
}

/// The one process that a script reports.
pub(super) fn read_report(answer: &Answer<'_>) -> Option<Process> {
    Process::read(answer.section("home")?, answer.section("state")?, answer.section("meta")?)
}
