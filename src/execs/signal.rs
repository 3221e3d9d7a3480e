//! Signals for an exec's process group: by the extension, or by `kill` as another exec.

use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, ExecItem, SignalRequest};
use wasm_bindgen::prelude::*;

use super::create::create;
use super::delete::delete;
use super::get::get;
use super::output_reader::OutputReader;
use super::{Execs, promise};
use crate::arguments::{exec_id, signal_name};
use crate::error::{Error, Result};
use crate::features::Feature;
use crate::operation::Operation;
use crate::request::{ExecId, Request};
use crate::transport::Transport;

#[wasm_bindgen]
impl Execs {
    /// Sends a signal, by default SIGTERM, to an exec's whole process group.
    pub fn kill(&self, id: &JsValue, signal: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, signal_name(signal)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, signal) = arguments?;
            match signal_group(&transport, &id, &signal).await? {
                Group::Signalled => Ok(JsValue::UNDEFINED),
                Group::Gone(refusal) => Err(refusal),
            }
        })
    }
}

const OPERATION: Operation = Operation::SignalExec;

/// What became of a signal.
#[derive(Debug)]
pub(super) enum Group {
    Signalled,
    /// No process of the group is left; this is how the agent says so.
    Gone(Error),
}

/// Sends a signal to an exec's whole process group. It is not repeated: a program may take a second
/// one for something else.
pub(super) async fn signal_group(
    transport: &Transport,
    id: &ExecId,
    signal: &str,
) -> Result<Group> {
    let outcome = if transport.offers(Feature::Signal).await.map_err(|error| error.of(OPERATION))? {
        let body = SignalRequest { signal: signal.to_owned() };
        let request = Request::post(OPERATION, id.path("/signal"), &body)?;
        transport.send_once(&request).await.map(|_| ())
    } else {
        kill_as_exec(transport, id, signal).await
    };
    match outcome {
        Ok(()) => Ok(Group::Signalled),
        Err(gone @ Error::Http { status: 409, .. }) => Ok(Group::Gone(gone)),
        Err(error) => Err(error),
    }
}

/// The way of an agent without the extension: the shell's own `kill` as an exec beside it.
async fn kill_as_exec(transport: &Transport, id: &ExecId, signal: &str) -> Result<()> {
    let exec = get(transport, id).await.map_err(|error| error.of(OPERATION))?;
    if exec.pid == 0 {
        return Err(gone(&exec));
    }
    // POSIX, kill: a negative process id is that of a group; `--` keeps it from being an option. A
    // process that is stopped acts upon SIGTERM only when it goes on.
    let script = r#"kill -s "$1" -- "-$2" && { [ "$1" != TERM ] || kill -s CONT -- "-$2"; }"#;
    let signal = signal.strip_prefix("SIG").unwrap_or(signal);
    let request = CreateExecRequest {
        command: "sh".to_owned(),
        args: ["-c", script, "sh", signal, &exec.pid.to_string()].map(str::to_owned).into(),
        interactive: Some(false),
        ..CreateExecRequest::default()
    };
    let killer = create(transport, &request).await?;
    let killer = ExecId::of(killer)?;
    let mut output = String::new();
    let mut reader = OutputReader::new(transport.clone(), killer.clone(), 0);
    while let Some(events) = reader.read().await? {
        output.extend(events.into_iter().map(|event| event.output));
    }
    delete(transport, &killer).await?;
    match reader.exit_code() {
        Some(0) => Ok(()),
        // A group that can't be signalled is there; one that is gone is told by ESRCH.
        _ if output.contains("ermitted") => Err(Error::Http {
            operation: OPERATION,
            status: 403,
            message: Some(output.trim().to_owned()),
            body: output,
            retry_after_ms: None,
        }),
        _ => Err(gone(&exec)),
    }
}

pub(super) fn gone(exec: &ExecItem) -> Error {
    let message = format!("no process of exec {} is left", exec.id);
    Error::Http {
        operation: OPERATION,
        status: 409,
        body: message.clone(),
        message: Some(message),
        retry_after_ms: None,
    }
}
