use js_sys::Promise;
use sandpipe_protocol::ExecItem;
use wasm_bindgen::prelude::*;

use super::Execs;
use crate::arguments::exec_id;
use crate::promise::promise;
use crate::request::{ExecId, Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;
use sandpipe_client::error::Result;
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Resolves the `ExecItem` of an exec.
    pub fn get(&self, id: &JsValue) -> Promise {
        let id = exec_id(id);
        let transport = self.transport.clone();
        promise(async move { to_js(&get(&transport, &id?).await?) })
    }
}

pub(super) async fn get(transport: &Transport, id: &ExecId) -> Result<ExecItem> {
    let operation = Operation::GetExec;
    let answer = transport.send(&Request::get(operation, id.path(""))).await?;
    read_json(operation, &answer)
}

/// Asks once.
pub(super) async fn get_once(transport: &Transport, id: &ExecId) -> Result<ExecItem> {
    let operation = Operation::GetExec;
    let request = Request::get(operation, id.path(""));
    read_json(operation, &transport.send_once(&request).await?)
}
