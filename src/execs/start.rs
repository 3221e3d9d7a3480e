use js_sys::Promise;
use sandpipe_protocol::{ExecItem, ExecStart};
use wasm_bindgen::prelude::*;

use super::{Execs, promise};
use crate::arguments::exec_id;
use crate::error::Result;
use crate::request::{ExecId, Operation, Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;

#[wasm_bindgen]
impl Execs {
    /// Starts an exec that was created without being started. Resolves its `ExecItem`.
    pub fn start(&self, id: &JsValue) -> Promise {
        let id = exec_id(id);
        let transport = self.transport.clone();
        promise(async move { to_js(&start(&transport, &id?).await?) })
    }
}

async fn start(transport: &Transport, id: &ExecId) -> Result<ExecItem> {
    let operation = Operation::StartExec;
    let request = Request::post(operation, id.path("/start"), &ExecStart {})?;
    read_json(operation, &transport.send(request).await?)
}
