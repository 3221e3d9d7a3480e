use super::duration::whole_milliseconds;
use super::get::read_report;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::script::sh;
use super::target::{ScriptCall, Target};
use crate::error::Result;

pub(super) async fn terminate(
    target: &Target,
    location: &Location,
    id: &ProcessId,
    grace_ms: f64,
) -> Result<Process> {
    let purpose = ScriptCall { operation: "terminate process", id: Some(id) };
    let script = location
        .script_of(id)
        .word("grace", &whole_milliseconds(grace_ms).to_string())
        .part(sh!("pause"))
        .part(sh!("conclude"))
        .part(sh!("terminate"));
    target.ask(purpose, &script, read_report).await
}
