use js_sys::Promise;
use sandpipe_protocol::{ExecItem, ExecStart};
use wasm_bindgen::prelude::*;

use super::Execs;
use super::get::get;
use crate::arguments::exec_id;
use crate::promise::promise;
use crate::request::{ExecId, Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;
use sandpipe_client::error::Result;
use sandpipe_client::operation::Operation;

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
    let request = Request::post(operation, id.path("/start"), &ExecStart {});
    let mut repeated = false;
    let attempt = async || match transport.send_once(&request).await {
        // The attempt before, whose answer was lost, has started it, and it has ended since.
        Err(error) if repeated && error.status() == Some(409) => get(transport, id).await,
        Ok(answer) => read_json(operation, &answer),
        Err(error) => {
            repeated |= error.is_ambiguous();
            Err(error)
        }
    };
    transport.repeat(operation, attempt).await
}
