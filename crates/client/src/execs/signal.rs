//! Signals for an exec's process group: by the extension, or by `kill` as another exec.

use std::cell::OnceCell;

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus, SignalRequest};

use super::{get, run_internal};
use crate::http::Request;
use crate::{Agent, Call, Error, ExecId, Feature, Operation, Result};

const OPERATION: Operation = Operation::SignalExec;

/// Sends a signal to an exec's whole process group.
pub fn kill(agent: &Agent, id: &ExecId, signal: String) -> Call<()> {
    let (agent, target) = (agent.clone(), ProcessGroup::new(id));
    Box::pin(async move {
        match target.signal(&agent, &signal).await? {
            SignalResult::Signalled => Ok(()),
            SignalResult::Gone(refusal) => Err(refusal),
        }
    })
}

/// What became of a signal.
pub(crate) enum SignalResult {
    Signalled,
    /// No process of the group is left; this is how the agent says so.
    Gone(Box<Error>),
}

/// A process group to be signalled.
pub(crate) struct ProcessGroup {
    id: ExecId,
    /// Found with the first signal, which nothing comes before that could hold it up.
    method: OnceCell<SignalMethod>,
}

enum SignalMethod {
    /// The extension: the agent knows the group, also when its leader has ended.
    Extension,
    /// `kill` as another exec, for an agent without it: the group has the number of the leader.
    Kill { pid: u32, status: ExecStatus },
}

impl ProcessGroup {
    /// The group of an exec.
    pub(crate) fn new(id: &ExecId) -> Self {
        Self { id: id.clone(), method: OnceCell::new() }
    }

    async fn method(&self, agent: &Agent) -> Result<&SignalMethod> {
        if let Some(method) = self.method.get() {
            return Ok(method);
        }
        let method = if agent.offers(Feature::Signal).await? {
            SignalMethod::Extension
        } else {
            let ExecItem { pid, status, .. } = get(agent, &self.id).await?;
            SignalMethod::Kill { pid, status }
        };
        Ok(self.method.get_or_init(|| method))
    }

    /// Whether the exec has not been started: its output has no end then.
    pub(crate) async fn never_ran(&self, agent: &Agent) -> Result<bool> {
        let status = match self.method(agent).await? {
            SignalMethod::Extension => get(agent, &self.id).await?.status,
            SignalMethod::Kill { status, .. } => status.clone(),
        };
        Ok(status == ExecStatus::Created)
    }

    /// The pauses between two looks at whether it is gone, in milliseconds: the first, the longest.
    pub(crate) fn poll_pauses(&self) -> (f64, f64) {
        match self.method.get() {
            Some(SignalMethod::Extension) => (5.0, 250.0),
            Some(SignalMethod::Kill { .. }) | None => (20.0, 1000.0),
        }
    }

    /// Sends a signal once; `0` only asks whether the group is there.
    pub(crate) fn signal<'a>(
        &'a self,
        agent: &'a Agent,
        signal: &'a str,
    ) -> LocalBoxFuture<'a, Result<SignalResult>> {
        Box::pin(async move {
            let sent = match self.method(agent).await {
                Err(error) => Err(error.with_operation(OPERATION)),
                Ok(SignalMethod::Extension) => {
                    let body = SignalRequest { signal: signal.to_owned() };
                    let mut request = Request::post(OPERATION, self.id.path("/signal"), &body);
                    request.once = true;
                    agent.http.send(request, None).await.map(drop)
                }
                Ok(SignalMethod::Kill { pid, status }) => {
                    self.kill(agent, *pid, status, signal).await
                }
            };
            match sent {
                Ok(()) => Ok(SignalResult::Signalled),
                // A gateway that knows nothing of the group does not say that it is gone.
                Err(error) if matches!(error.status_of_agent(), Some(404 | 409)) => {
                    Ok(SignalResult::Gone(error))
                }
                Err(error) => Err(error),
            }
        })
    }

    async fn kill(&self, agent: &Agent, pid: u32, status: &ExecStatus, signal: &str) -> Result<()> {
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
            run_internal(agent, &request).await.map_err(|error| match *error {
                // Whether `kill` has run is as open as with a signal whose answer is lost.
                Error::CreateUnknown { cause, .. } if cause.is_ambiguous() => {
                    cause.with_operation(OPERATION)
                }
                Error::Http { status: 401 | 403, .. } => error.with_operation(OPERATION),
                _ => self.not_delivered(&error),
            })?;
        match exit_code {
            Some(0) => Ok(()),
            // ESRCH, in the words of every system.
            Some(1) if output.contains("No such process") => Err(self.gone()),
            _ => Err(self.not_delivered(&output.trim())),
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
            not_run: false,
        })
    }

    fn not_delivered(&self, reason: &impl std::fmt::Display) -> Box<Error> {
        Box::new(Error::Protocol {
            operation: OPERATION,
            problem: format!("`kill` for exec {} failed: {reason}", self.id.as_str()),
            excerpt: String::new(),
        })
    }
}
