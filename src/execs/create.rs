use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, ExecItem};
use uuid::Uuid;
use wasm_bindgen::prelude::*;

use super::{Execs, promise};
use crate::arguments::{Fields, boolean, string, string_map, strings};
use crate::error::{Error, Result};
use crate::features::Feature;
use crate::operation::Operation;
use crate::request::{Request, read_json};
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

const OPERATION: Operation = Operation::CreateExec;

/// Creates an exec, at most once: it is repeated where the agent knows a repeated create for what it
/// is, or can't have seen the first.
pub(super) async fn create(transport: &Transport, exec: &CreateExecRequest) -> Result<ExecItem> {
    let mut request = Request::post(OPERATION, "/api/v1/execs".to_owned(), exec)?;
    let known_by_key = match transport.offers(Feature::IdempotencyKey).await {
        Ok(offered) => offered,
        // Nothing was created: to the caller it is the create that failed.
        Err(error) => return Err(error.of(OPERATION)),
    };
    if known_by_key {
        request.idempotency_key = Some(Uuid::new_v4().to_string());
    }
    let mut may_exist = false;
    let attempt = async || {
        let answer = transport.send_once(&request).await;
        may_exist |= answer.as_ref().is_err_and(leaves_open);
        match answer {
            Err(error) if may_exist && !known_by_key => Err(create_unknown(exec, error)),
            answer => answer,
        }
    };
    let answer = transport.repeat(OPERATION, attempt).await;
    match answer {
        Ok(body) => read_json(OPERATION, &body),
        // An agent that knows the key and refuses has created nothing before either.
        Err(error) if may_exist && !is_refusal(&error) => Err(create_unknown(exec, error)),
        Err(error) => Err(error),
    }
}

fn create_unknown(exec: &CreateExecRequest, error: Error) -> Error {
    match error {
        Error::CreateUnknown { .. } | Error::Closed | Error::Thrown(_) => error,
        cause => Error::CreateUnknown { command: exec.command.clone(), cause: Box::new(cause) },
    }
}

/// Whether the agent may have done what was asked although this is the answer: it is not the agent's
/// own, or there is none and the request may have arrived.
fn leaves_open(error: &Error) -> bool {
    match error {
        Error::Network { never_sent, .. } => !never_sent,
        Error::Http { status, message, .. } => {
            message.is_none() && (*status >= 500 || *status == 408)
        }
        _ => false,
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Http { message: Some(_), .. })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn http(status: u16, message: Option<&str>) -> Error {
        Error::Http {
            operation: OPERATION,
            status,
            message: message.map(str::to_owned),
            body: String::new(),
            retry_after_ms: None,
        }
    }

    #[test]
    fn an_answer_of_the_agents_own_leaves_nothing_open() {
        for status in [400, 401, 429, 500, 503] {
            assert!(!leaves_open(&http(status, Some("no room"))), "{status}");
        }
    }

    #[test]
    fn a_gateways_answer_leaves_open_whether_the_agent_saw_the_request() {
        for status in [408, 500, 502, 503, 504] {
            assert!(leaves_open(&http(status, None)), "{status}");
        }
        for status in [400, 401, 404, 413, 429] {
            assert!(!leaves_open(&http(status, None)), "{status}");
        }
    }
}
