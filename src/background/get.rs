use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Background;
use super::answer::Answer;
use super::location::{Location, ProcessId};
use super::process::Process;
use super::runtime::{Purpose, Runtime};
use super::script::sh;
use crate::promise::promise;
use crate::value::to_js;
use sandpipe_client::error::Result;

#[wasm_bindgen]
impl Background {
    /// Resolves a process as it is now.
    pub fn get(&self, id: &JsValue) -> Promise {
        let id = ProcessId::read(id);
        let Self { runtime, location } = self.clone();
        promise(async move { to_js(&get(&runtime, &location, &id?).await?) })
    }
}

pub(super) async fn get(runtime: &Runtime, location: &Location, id: &ProcessId) -> Result<Process> {
    let purpose = Purpose { operation: "get process", id: Some(id) };
    let script = location.script_of(id).part(sh!("get"));
    runtime.ask(purpose, &script, read_report).await
}

/// The one process that a script reports.
pub(super) fn read_report(answer: &Answer<'_>) -> Option<Process> {
    Process::read(answer.section("home")?, answer.section("state")?, answer.section("meta")?)
}
