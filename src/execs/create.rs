use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, ExecItem};
use wasm_bindgen::prelude::*;

use super::{Execs, promise};
use crate::arguments::{Fields, boolean, string, string_map, strings};
use crate::error::Result;
use crate::request::{Operation, Request, read_json};
use crate::transport::Transport;
use crate::value::to_js;

#[wasm_bindgen]
impl Execs {
    /// Creates an exec and, unless told otherwise, starts it. Resolves its `ExecItem`.
    pub fn create(&self, request: &JsValue) -> Promise {
        let request = read_request(request);
        let transport = self.transport.clone();
        promise(async move { to_js(&create(&transport, &request?).await?) })
    }
}

pub(super) async fn create(transport: &Transport, request: &CreateExecRequest) -> Result<ExecItem> {
    let operation = Operation::CreateExec;
    let request = Request::post(operation, "/api/v1/execs".to_owned(), request)?;
    read_json(operation, &transport.send(request).await?)
}

fn read_request(value: &JsValue) -> Result<CreateExecRequest> {
    let fields = Fields::of(value, "request")?;
    fields.only(&["command", "args", "autostart", "interactive", "pty", "cwd", "env", "user"])?;
    Ok(CreateExecRequest {
        command: fields.required("command", string)?,
        args: fields.required("args", strings)?,
        autostart: fields.optional("autostart", boolean)?,
        interactive: fields.optional("interactive", boolean)?,
        ..read_settings(&fields)?
    })
}

/// The names of the fields that [`read_settings`] reads.
pub(super) const SETTINGS: [&str; 4] = ["cwd", "env", "pty", "user"];

/// What `create` and `exec` both take.
pub(super) fn read_settings(fields: &Fields<'_>) -> Result<CreateExecRequest> {
    Ok(CreateExecRequest {
        cwd: fields.optional("cwd", string)?,
        env: fields.optional("env", string_map)?,
        pty: fields.optional("pty", boolean)?,
        user: fields.optional("user", string)?,
        ..CreateExecRequest::default()
    })
}
