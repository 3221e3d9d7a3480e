use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Execs;
use super::get::get;
use crate::arguments::exec_id;
use crate::promise::promise;
use crate::terminal::{Line, Terminal};

#[wasm_bindgen]
impl Execs {
    /// Resolves a `Terminal` at an exec that exists.
    pub fn attach(&self, id: &JsValue) -> Promise {
        let id = exec_id(id);
        let transport = self.transport.part();
        promise(async move {
            let id = id?;
            get(&transport, &id).await?;
            let line = Line::find(&transport).await?;
            Ok(Terminal::new(transport, id, line).into())
        })
    }
}
