use js_sys::Promise;
use wasm_bindgen::prelude::*;

use super::Execs;
use crate::arguments::exec_id;
use crate::promise::promise;
use crate::request::{ExecId, Request};
use crate::transport::Transport;
use sandpipe_client::error::Result;
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
    pub fn delete(&self, id: &JsValue) -> Promise {
        let id = exec_id(id);
        let transport = self.transport.clone();
        promise(async move {
            delete(&transport, &id?).await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}

pub(crate) async fn delete(transport: &Transport, id: &ExecId) -> Result<()> {
    let request = Request::delete(Operation::DeleteExec, id.path(""));
    let mut repeated = false;
    let attempt = async || match transport.send_once(&request).await {
        Ok(_) => Ok(()),
        // The attempt before, whose answer was lost, has done it.
        Err(error) if repeated && error.status() == Some(404) => Ok(()),
        Err(error) => {
            repeated |= error.is_ambiguous();
            Err(error)
        }
    };
    transport.repeat(request.operation, attempt).await
}
