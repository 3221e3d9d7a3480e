use js_sys::Promise;
use sandpipe_protocol::ExecItem;
use wasm_bindgen::prelude::*;

use super::Execs;
use super::live_list::ListEvent;
use crate::promise::promise;
use crate::request::{Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;
use sandpipe_client::error::Result;
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Resolves an array of the `ExecItem`s of all execs, newest first, long command lines short.
    pub fn list(&self) -> Promise {
        let transport = self.transport.clone();
        promise(async move { to_js(&list(&transport).await?) })
    }
}

async fn list(transport: &Transport) -> Result<Vec<ExecItem>> {
    let operation = Operation::ListExecs;
    let answer = transport.send(&Request::get(operation, "/api/v1/execs".to_owned())).await?;
    read_json::<ListEvent>(operation, &answer).map(|list| list.execs)
}
