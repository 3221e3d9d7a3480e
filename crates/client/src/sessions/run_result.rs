//! What a run returns to its caller.

use super::run_end::{RunEnd, why_inaccessible};
use super::run_output::RunOutput;
use super::session::session_ended;
use crate::error::{NotStopped, StopReason, Stopped};
use crate::execs::StopRequest;
use crate::output::ExecResult;
use crate::{Error, Result};

/// What asks for a script to be stopped.
pub(super) enum StopCause {
    Request(StopRequest),
    /// More output than is allowed, or the caller's function threw.
    Failure(Box<Error>),
}

impl RunOutput {
    /// What the caller gets.
    pub(super) fn result(
        &self,
        end: RunEnd,
        stop_cause: Option<StopCause>,
        forced: bool,
        unstopped: Option<NotStopped>,
    ) -> Result<ExecResult> {
        let (output, kept) = self.transcript.borrow_mut().output();
        let stopped = |why, unstopped, incomplete: Option<Box<Error>>| {
            Err(Error::Stopped(Stopped {
                exec_id: Some(self.id.as_str().to_owned()),
                why,
                output: output.clone(),
                forced,
                unstopped,
                incomplete: incomplete.or(kept.clone().err()),
            })
            .into())
        };
        let ended = |exit_code| {
            let runs = self.transcript.borrow_mut().take_runs();
            let result = ExecResult { exit_code, output: output.clone(), runs };
            kept.clone().map(|()| result)
        };
        match (stop_cause, end) {
            (_, RunEnd::Lost(error)) if error.is_closed() => Err(error),
            (Some(StopCause::Request(request)), RunEnd::Lost(error) | RunEnd::InputLost(error)) => {
                stopped(request.why, unstopped, Some(error))
            }
            (Some(StopCause::Request(request)), _) => stopped(request.why, unstopped, None),
            (Some(StopCause::Failure(mut error)), _) => {
                if let Some(left) = error.unstopped_mut() {
                    *left = unstopped;
                }
                Err(error)
            }
            (None, RunEnd::Inaccessible { refusal, script }) => Err(Error::Session {
                exec_id: self.id.as_str().to_owned(),
                reason: format!("this session is over: {}; {script}", why_inaccessible(&refusal)),
                output,
            }
            .into()),
            (None, RunEnd::Ready | RunEnd::Unstoppable { .. }) => match self.exit_code() {
                Some(exit_code) => ended(exit_code),
                None => Err(session_ended(&self.id, "its shell did not say how the script ended")),
            },
            (None, RunEnd::Shell(exit_code)) => ended(exit_code),
            (None, RunEnd::InputLost(error)) => {
                stopped(StopReason::InputLost { error }, unstopped, None)
            }
            (None, RunEnd::Lost(mut error) | RunEnd::NotSent(mut error)) => {
                if let Error::ExitCodeMissing { output: collected, .. }
                | Error::OutputLost { output: collected, .. } = &mut *error
                {
                    *collected = output;
                }
                Err(error)
            }
        }
    }
}
