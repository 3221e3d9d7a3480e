use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::{Execs, promise};
use crate::arguments::exec_id;
use crate::request::{Operation, Request};

#[wasm_bindgen]
impl Execs {
    /// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
    pub fn delete(&self, id: &JsValue) -> Promise {
        let id = exec_id(id);
        let transport = self.transport.clone();
        promise(async move {
            transport.send(Request::delete(Operation::DeleteExec, id?.path(""))).await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}
