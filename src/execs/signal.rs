//! Signals for an exec's process group: by the extension, or by `kill` as another exec.

use std::cell::OnceCell;

use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus, SignalRequest};
use wasm_bindgen::prelude::*;

use super::Execs;
use super::errand::errand;
use super::get::get;
use crate::arguments::{exec_id, signal_name};
use crate::features::Feature;
use crate::promise::promise;
use crate::request::{ExecId, Request};
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Sends a signal, by default SIGTERM, to an exec's whole process group.
    pub fn kill(&self, id: &JsValue, signal: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, signal_name(signal)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, signal) = arguments?;
            let target = Target::new(&id);
            match target.signal(&transport, &signal).await? {
                Group::Signalled => Ok(JsValue::UNDEFINED),
                Group::Gone(refusal) => Err(refusal),
            }
        })
    }
}

const OPERATION: Operation = Operation::SignalExec;

/// What became of a signal.
#[derive(Debug)]
pub(crate) enum Group {
    Signalled,
    /// No process of the group is left; this is how the agent says so.
    Gone(Box<Error>),
}

/// A process group to be signalled.
#[derive(Debug)]
pub(crate) struct Target {
    id: ExecId,
    /// Found with the first signal, which nothing comes before that could hold it up.
    way: OnceCell<Way>,
}

#[derive(Debug)]
enum Way {
    /// The extension: the agent knows the group, also when its leader has ended.
    Extension,
    /// `kill` as another exec, for an agent without it: the group has the number of the leader.
    Kill { pid: u32, status: ExecStatus },
}

impl Target {
    /// The group of an exec.
    pub(crate) fn new(id: &ExecId) -> Self {
        Self { id: id.clone(), way: OnceCell::new() }
    }

    async fn way(&self, transport: &Transport) -> Result<&Way> {
        if let Some(way) = self.way.get() {
            return Ok(way);
        }
        let way = if transport.offers(Feature::Signal).await? {
            Way::Extension
        } else {
            let ExecItem { pid, status, .. } = get(transport, &self.id).await?;
            Way::Kill { pid, status }
        };
        Ok(self.way.get_or_init(|| way))
    }

    /// Whether the exec has not been started: its output has no end then.
    pub(crate) async fn never_ran(&self, transport: &Transport) -> Result<bool> {
        let status = match self.way(transport).await? {
            Way::Extension => get(transport, &self.id).await?.status,
            Way::Kill { status, .. } => status.clone(),
        };
        Ok(status == ExecStatus::Created)
    }

    /// The pauses between two looks at whether it is gone, in milliseconds: the first, the longest.
    pub(crate) fn looks(&self) -> (f64, f64) {
        match self.way.get() {
            Some(Way::Extension) => (5.0, 250.0),
            Some(Way::Kill { .. }) | None => (20.0, 1000.0),
        }
    }

    /// Sends a signal once; `0` only asks whether the group is there.
    pub(crate) async fn signal(&self, transport: &Transport, signal: &str) -> Result<Group> {
        match self.try_signal(transport, signal).await {
            Ok(()) => Ok(Group::Signalled),
            Err(error) => match error.status() {
                Some(404 | 409) => Ok(Group::Gone(error)),
                _ => Err(error),
            },
        }
    }

    async fn try_signal(&self, transport: &Transport, signal: &str) -> Result<()> {
        match self.way(transport).await.map_err(|error| error.with_operation(OPERATION))? {
            Way::Extension => {
                let body = SignalRequest { signal: signal.to_owned() };
                let request = Request::post(OPERATION, self.id.path("/signal"), &body);
                transport.send_once(&request).await.map(drop)
            }
            Way::Kill { pid, status } => self.kill(transport, *pid, status, signal).await,
        }
    }

    async fn kill(
        &self,
        transport: &Transport,
        pid: u32,
        status: &ExecStatus,
        signal: &str,
    ) -> Result<()> {
        // Once the leader has been reaped its number may be another's. A group that was found while
        // the leader lived is signalled for the moment that a stop takes.
        let ended = matches!(status, ExecStatus::Exited | ExecStatus::Stopped);
        if pid == 0 || ended {
            return Err(self.gone());
        }
        // POSIX, kill: a negative process id is that of a group. Behind a signal it is no option; not every
        // shell takes `--` there.
        // A process that is stopped acts upon SIGTERM only when it goes on.
        let script = r#"kill "-$1" "-$2" || exit 1
            [ "$1" != TERM ] || kill -CONT "-$2" 2>/dev/null || :"#;
        let signal = signal.strip_prefix("SIG").unwrap_or(signal);
        let request = CreateExecRequest {
            command: "sh".to_owned(),
            args: ["-c", script, "sh", signal, &pid.to_string()].map(str::to_owned).into(),
            interactive: Some(false),
            ..CreateExecRequest::default()
        };
        let (exit_code, output) =
            errand(transport, &request).await.map_err(|error| match *error {
                // Whether `kill` has run is as open as with a signal whose answer is lost.
                Error::CreateUnknown { cause, .. } if cause.is_ambiguous() => {
                    cause.with_operation(OPERATION)
                }
                Error::Http { status: 401 | 403, .. } => error.with_operation(OPERATION),
                _ => self.undelivered(&error),
            })?;
        match exit_code {
            Some(0) => Ok(()),
            // ESRCH, in the words of every system.
            Some(1) if output.contains("No such process") => Err(self.gone()),
            _ => Err(self.undelivered(&output.trim())),
        }
    }

    pub(crate) fn gone(&self) -> Box<Error> {
        let message = format!("no process of exec {} is left", self.id.as_str());
        Box::new(Error::Http {
            operation: OPERATION,
            status: 409,
            body: message.clone(),
            message: Some(message),
            retry_after_ms: None,
            max_delay_ms: None,
        })
    }

    fn undelivered(&self, reason: &impl std::fmt::Display) -> Box<Error> {
        Box::new(Error::Protocol {
            operation: OPERATION,
            problem: format!("`kill` for exec {} failed: {reason}", self.id.as_str()),
            excerpt: String::new(),
        })
    }
}
