//! How a run ends, and what its caller is told.

use wasm_bindgen::JsValue;

use super::output::Output;
use super::over;
use crate::error::{Error, OutputLimit, Result, Stopped, Unstopped, Why};
use crate::execs::stop_requests::StopRequest;

/// How a run came to its end.
pub(super) enum End {
    /// The shell is ready for the next one.
    Ready,
    /// The shell itself ended.
    Shell(i32),
    /// It can't be followed any further.
    Lost(Error),
    /// The fate of a piece of the script is not known: sent again, it could be run twice.
    InputLost(Error),
    /// The script went on whatever was done.
    Unstoppable,
}

/// What asks for a script to be stopped.
pub(super) enum Asked {
    By(StopRequest),
    /// More output than is allowed, or the caller's function threw.
    Failure(Error),
}

impl Output {
    /// What the caller is told.
    pub(super) fn result(
        &self,
        end: End,
        asked: Option<Asked>,
        forced: bool,
        unstopped: Option<Unstopped>,
    ) -> Result<JsValue> {
        let output = self.transcript.borrow_mut().text();
        let unstopped = unstopped.map(Box::new);
        let stopped = |why, unstopped, incomplete: Option<Error>| {
            Err(Error::Stopped(Box::new(Stopped {
                exec_id: Some(self.id.as_str().to_owned()),
                why,
                output: output.clone(),
                forced,
                unstopped,
                incomplete: incomplete.map(Box::new),
            })))
        };
        match (asked, end) {
            (_, End::Lost(Error::Closed)) => Err(Error::Closed),
            (Some(Asked::By(request)), End::Lost(error) | End::InputLost(error)) => {
                stopped(request.why, unstopped, Some(error))
            }
            (Some(Asked::By(request)), _) => stopped(request.why, unstopped, None),
            (Some(Asked::Failure(error)), _) => Err(match error {
                Error::OutputLimit {
                    exec_id,
                    limit: limit @ OutputLimit::Bytes(_),
                    output,
                    ..
                } => Error::OutputLimit { exec_id, limit, output, unstopped },
                error => error,
            }),
            (None, End::Ready | End::Unstoppable) => match self.exit_code() {
                Some(exit_code) => self.transcript.borrow_mut().outcome(Some(exit_code)),
                None => Err(over(&self.id, "its shell did not say how the script ended")),
            },
            (None, End::Shell(exit_code)) => self.transcript.borrow_mut().outcome(Some(exit_code)),
            (None, End::InputLost(error)) => {
                stopped(Why::InputLost { error: Box::new(error) }, unstopped, None)
            }
            (None, End::Lost(Error::ExitCodeMissing { exec_id, cause, .. })) => {
                Err(Error::ExitCodeMissing { exec_id, output, cause })
            }
            (None, End::Lost(error)) => Err(error),
        }
    }
}

impl End {
    /// Why the session is over, if it is.
    pub(super) fn over(&self) -> Option<String> {
        match self {
            Self::Ready => None,
            Self::Shell(exit_code) => Some(format!(
                "its shell ended with exit code {exit_code} in a run before: by `exit`, `exec`, a \
                 signal, or a failure under `set -e`"
            )),
            Self::Lost(Error::Session { reason, .. }) => {
                Some(reason.trim_start_matches("this session is over: ").to_owned())
            }
            Self::Lost(error) => Some(format!("its output could not be followed: {error}")),
            Self::InputLost(error) => {
                Some(format!("a script could not be delivered, and its shell was killed: {error}"))
            }
            Self::Unstoppable => {
                let reason = "a script could not be interrupted: its shell traps SIGINT, or runs \
                              nothing any more (`set -n`), and was killed";
                Some(reason.to_owned())
            }
        }
    }
}
