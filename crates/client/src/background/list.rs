use super::location::Location;
use super::process::Process;
use super::script::sh;
use super::target::{ScriptCall, Target};
use crate::error::Result;

/// All processes as they are now, newest first.
pub(super) async fn list(target: &Target, location: &Location) -> Result<Vec<Process>> {
    let purpose = ScriptCall { operation: "list processes", id: None };
    let script = location.script().part(sh!("look")).part(sh!("process")).part(sh!("list"));
    target
        .ask(purpose, &script, |answer| {
            let section = |name| answer.section(name).unwrap_or_default();
            Some(Process::read_all(section("home"), section("states"), section("metas")))
        })
        .await
}
