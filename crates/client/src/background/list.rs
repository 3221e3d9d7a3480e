//! All processes as they are now.

use super::script::sh;
use super::target::ScriptCall;
use super::{Background, BackgroundProcess};
use crate::Call;

impl Background {
    /// All processes as they are now, newest first.
    pub fn list(&self) -> Call<Vec<BackgroundProcess>> {
        let script =
            self.location.script().part(sh!("look")).part(sh!("process")).part(sh!("list"));
        self.ask(ScriptCall { operation: "list processes", id: None }, script, |answer| {
            let section = |name| answer.section(name).unwrap_or_default();
            Some(BackgroundProcess::read_all(section("home"), section("states"), section("metas")))
        })
    }
}
