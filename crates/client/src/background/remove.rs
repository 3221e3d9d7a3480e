use super::location::{Location, ProcessId};
use super::script::sh;
use super::target::{ScriptCall, Target};
use crate::error::Result;

pub(super) async fn remove(target: &Target, location: &Location, id: &ProcessId) -> Result<()> {
    let purpose = ScriptCall { operation: "remove process", id: Some(id) };
    let script = location.script_of(id).part(sh!("remove"));
    target.ask(purpose, &script, |answer| answer.section("removed").map(|_| ())).await
}
