//! Signals for an exec's process group: by the extension, or by `kill` as another exec.

use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus, SignalRequest};
use wasm_bindgen::prelude::*;

use super::Execs;
use super::errand::errand;
use super::get::get;
use crate::arguments::{exec_id, signal_name};
use crate::error::{Error, Result};
use crate::features::Feature;
use crate::operation::Operation;
use crate::promise::promise;
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
            let target = Target::find(&transport, &id).await?;
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
    exec: ExecItem,
    way: Way,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The extension: the agent knows the group, also when its leader has ended.
    Extension,
    /// `kill` as another exec, for an agent without it: the group has the number of the leader.
    Kill,
}

impl Target {
    /// Finds an exec's group, and the way to signal it.
    pub(crate) async fn find(transport: &Transport, id: &ExecId) -> Result<Self> {
        let offered = transport.offers(Feature::Signal).await.map_err(|error| error.of(OPERATION));
        let way = if offered? { Way::Extension } else { Way::Kill };
        let exec = get(transport, id).await.map_err(|error| error.of(OPERATION))?;
        Ok(Self { id: id.clone(), exec, way })
    }

    /// Whether the exec had not been started when it was found.
    pub(crate) fn never_ran(&self) -> bool {
        self.exec.status == ExecStatus::Created
    }

    /// The pauses between two looks at whether it is gone, in milliseconds: the first, the longest.
    pub(crate) fn looks(&self) -> (f64, f64) {
        match self.way {
            Way::Extension => (5.0, 250.0),
            Way::Kill => (20.0, 1000.0),
        }
    }

    /// Sends a signal once; `0` only asks whether the group is there.
    pub(crate) async fn signal(&self, transport: &Transport, signal: &str) -> Result<Group> {
        let sent = match self.way {
            Way::Extension => {
                let body = SignalRequest { signal: signal.to_owned() };
                let request = Request::post(OPERATION, self.id.path("/signal"), &body);
                transport.send_once(&request).await.map(|_| ())
            }
            Way::Kill => self.kill(transport, signal).await,
        };
        match sent {
            Ok(()) => Ok(Group::Signalled),
            Err(error) => match error.status() {
                Some(404 | 409) => Ok(Group::Gone(error)),
                _ => Err(error),
            },
        }
    }

    async fn kill(&self, transport: &Transport, signal: &str) -> Result<()> {
        // Once the leader has been reaped its number may be another's. A group that was found while
        // the leader lived is signalled for the moment that a stop takes.
        let ended = matches!(self.exec.status, ExecStatus::Exited | ExecStatus::Stopped);
        if self.exec.pid == 0 || ended {
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
            args: ["-c", script, "sh", signal, &self.exec.pid.to_string()]
                .map(str::to_owned)
                .into(),
            interactive: Some(false),
            ..CreateExecRequest::default()
        };
        let (exit_code, output) =
            errand(transport, &request).await.map_err(|error| match *error {
                // Whether `kill` has run is as open as with a signal whose answer is lost.
                Error::CreateUnknown { cause, .. } if cause.leaves_open() => cause.of(OPERATION),
                Error::Http { status: 401 | 403, .. } => error.of(OPERATION),
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
