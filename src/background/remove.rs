use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Background;
use super::location::{Location, ProcessId};
use super::runtime::{Purpose, Runtime};
use super::script::sh;
use crate::promise::promise;
use sandpipe_client::error::Result;

#[wasm_bindgen]
impl Background {
    /// Removes a process that has ended, with its output.
    pub fn remove(&self, id: &JsValue) -> Promise {
        let id = ProcessId::read(id);
        let Self { runtime, location } = self.clone();
        promise(async move {
            remove(&runtime, &location, &id?).await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}

pub(super) async fn remove(runtime: &Runtime, location: &Location, id: &ProcessId) -> Result<()> {
    let purpose = Purpose { operation: "remove process", id: Some(id) };
    let script = location.script_of(id).part(sh!("remove"));
    runtime.ask(purpose, &script, |answer| answer.section("removed").map(|_| ())).await
}
