use js_sys::Promise;
use sandpipe_protocol::{ExecItem, ExecStdin, StdinType};
use wasm_bindgen::prelude::*;

use super::Execs;
use crate::arguments::{Fields, exec_id, string, wrong};
use crate::features::Feature;
use crate::promise::promise;
use crate::request::{ExecId, Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Writes to a running exec's standard input, or sets the size of its terminal. Resolves its
    /// `ExecItem`.
    #[wasm_bindgen(js_name = sendStdin)]
    pub fn send_stdin(&self, id: &JsValue, body: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, read_body(body)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, body) = arguments?;
            to_js(&send_stdin(&transport, &id, &body).await?)
        })
    }
}

pub(crate) async fn send_stdin(
    transport: &Transport,
    id: &ExecId,
    body: &ExecStdin,
) -> Result<ExecItem> {
    let operation = Operation::SendStdin;
    let feature = Feature::StdinEof;
    if body.kind == StdinType::Eof && !transport.offers(feature).await? {
        return Err(Error::Unsupported { feature: feature.name(), what: "the end of stdin" }.into());
    }
    let mut request = Request::post(operation, id.path("/io"), body);
    request.waits = true;
    // Not repeated: the process could read it twice.
    read_json(operation, &transport.send_once(&request).await?)
}

fn read_body(value: &JsValue) -> Result<ExecStdin> {
    let fields = Fields::of(value, "body")?;
    fields.only(&["type", "input"])?;
    Ok(ExecStdin {
        kind: fields.optional("type", kind)?.unwrap_or(StdinType::Stdin),
        input: fields.required("input", string)?,
    })
}

fn kind(value: &JsValue, name: &str) -> Result<StdinType> {
    match value.as_string().as_deref() {
        Some("stdin") => Ok(StdinType::Stdin),
        Some("resize") => Ok(StdinType::Resize),
        Some("eof") => Ok(StdinType::Eof),
        _ => Err(wrong(name, "\"stdin\", \"resize\" or \"eof\"", value)),
    }
}
