use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Background;
use super::process::Process;
use super::runtime::Purpose;
use super::script::sh;
use crate::promise::promise;
use crate::value::to_js;

#[wasm_bindgen]
impl Background {
    /// Resolves all processes as they are now, newest first.
    pub fn list(&self) -> Promise {
        let Self { runtime, location } = self.clone();
        promise(async move {
            let purpose = Purpose { operation: "list processes", id: None };
            let script = location.script().part(sh!("look")).part(sh!("process")).part(sh!("list"));
            let processes = runtime.ask(purpose, &script, |answer| {
                let section = |name| answer.section(name).unwrap_or_default();
                Some(Process::read_all(section("home"), section("states"), section("metas")))
            });
            to_js(&processes.await?)
        })
    }
}
