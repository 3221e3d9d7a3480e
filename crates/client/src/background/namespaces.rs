//! The namespaces in which there are processes.

use super::Background;
use super::location::is_plain_name;
use super::script::sh;
use super::target::ScriptCall;
use crate::Call;

impl Background {
    /// The names of all namespaces below the base directory that have a process.
    pub fn namespaces(&self) -> Call<Vec<String>> {
        let script = self.location.script().part("told=\n").part(sh!("namespaces"));
        self.ask(ScriptCall { operation: "list namespaces", id: None }, script, |answer| {
            let names = answer.section("namespaces")?.lines().filter(|name| is_plain_name(name));
            Some(names.map(str::to_owned).collect())
        })
    }
}
