//! Asking the target by scripts.

use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};

use super::answer::{NoAnswer, ScriptAnswer};
use super::script::Script;
use super::{Background, ProcessId, RunFailure, ScriptResult};
use crate::abort::aborted_error;
use crate::error::BackgroundErrorReason;
use crate::http::excerpt;
use crate::{AbortSignal, Call, Error, Nonce, Result};

/// What a script is for: for error messages.
#[derive(Clone)]
pub(super) struct ScriptCall {
    pub(super) operation: &'static str,
    pub(super) id: Option<ProcessId>,
}

/// Why a target was not asked, or did not answer.
pub(super) struct ScriptFailure {
    pub(super) error: Box<Error>,
    /// The script was not run, for sure.
    pub(super) not_run: bool,
}

impl ScriptCall {
    /// One about a process.
    pub(super) fn new(operation: &'static str, id: ProcessId) -> Self {
        Self { operation, id: Some(id) }
    }

    pub(super) fn failed(&self, problem: impl Into<String>, output: &str) -> Box<Error> {
        self.error(problem.into(), output, None)
    }

    fn error(
        &self,
        problem: String,
        output: &str,
        refusal: Option<BackgroundErrorReason>,
    ) -> Box<Error> {
        Box::new(Error::Background {
            operation: self.operation,
            problem,
            output: output.to_owned(),
            id: self.id.as_ref().map(|id| id.as_str().to_owned()),
            refusal,
            cause: None,
        })
    }

    /// A failure after the process may have been started: its id is what is needed to ask again.
    pub(super) fn outcome_unknown(&self, error: Box<Error>) -> Box<Error> {
        let Error::Thrown(cause) = &*error else {
            return error;
        };
        Box::new(Error::Background {
            operation: self.operation,
            problem: "the target can't be asked any more: it may still run".to_owned(),
            output: String::new(),
            id: self.id.as_ref().map(|id| id.as_str().to_owned()),
            refusal: None,
            cause: Some(cause.clone()),
        })
    }

    /// An answer that is not what the script would have said.
    pub(super) fn unreadable(&self, output: &str) -> Box<Error> {
        let excerpt = excerpt(output.trim().as_bytes());
        self.failed(format!("the target's answer can't be read: {excerpt}"), &excerpt)
    }
}

impl Background {
    /// Runs one script, once, and takes what is wanted out of its answer with `read`, which gives None
    /// where that is not there.
    pub(super) fn ask<T: 'static>(
        &self,
        purpose: ScriptCall,
        script: Script,
        read: impl FnOnce(&ScriptAnswer<'_>) -> Option<T> + 'static,
    ) -> Call<T> {
        let background = self.clone();
        Box::pin(async move {
            let output = background.run_script(&purpose, &script, None).await;
            output.map_err(|failure| failure.error)?.take(&purpose, read)
        })
    }

    /// Runs a script until a signal is aborted.
    pub(super) async fn run_until(
        &self,
        purpose: &ScriptCall,
        script: &Script,
        signal: Option<&AbortSignal>,
    ) -> Result<ScriptOutput> {
        let running = self.run_script(purpose, script, signal);
        let output = match signal {
            None => running.await,
            Some(signal) => match select(pin!(signal.aborted()), running).await {
                Either::Left((reason, _)) => return Err(aborted_error(reason)),
                Either::Right((output, _)) => output,
            },
        };
        output.map_err(|failure| failure.error)
    }

    /// Runs a script; a failure says whether it was run.
    pub(super) fn run_script<'a>(
        &'a self,
        purpose: &'a ScriptCall,
        script: &'a Script,
        signal: Option<&'a AbortSignal>,
    ) -> LocalBoxFuture<'a, std::result::Result<ScriptOutput, ScriptFailure>> {
        Box::pin(async move {
            let nonce = Nonce::of_bytes(self.host.random_bytes());
            match self.runtime.run(script.render(&nonce), signal).await {
                Ok(ScriptResult { exit_code, output }) => {
                    Ok(ScriptOutput { exit_code, text: output, nonce })
                }
                Err(RunFailure::Thrown { error, not_run }) => {
                    Err(ScriptFailure { error: Error::thrown(error), not_run })
                }
                Err(RunFailure::NoResult) => {
                    let problem = "the runtime resolved something else than { exitCode, output }";
                    Err(ScriptFailure { error: purpose.failed(problem, ""), not_run: false })
                }
            }
        })
    }
}

/// What a script printed, its answer amid it.
pub(super) struct ScriptOutput {
    exit_code: f64,
    text: String,
    nonce: Nonce,
}

impl ScriptOutput {
    pub(super) fn take<T>(
        &self,
        purpose: &ScriptCall,
        read: impl FnOnce(&ScriptAnswer<'_>) -> Option<T>,
    ) -> Result<T> {
        read(&self.answer(purpose)?).ok_or_else(|| purpose.unreadable(&self.text))
    }

    fn answer(&self, purpose: &ScriptCall) -> Result<ScriptAnswer<'_>> {
        ScriptAnswer::find(&self.text, &self.nonce).map_err(|why| match why {
            NoAnswer::Missing => {
                let id = purpose.id.as_ref().map_or("", ProcessId::as_str);
                Error::NotFound { operation: purpose.operation, id: id.to_owned() }.into()
            }
            NoAnswer::Failed(message) => purpose.failed(message.clone(), &message),
            NoAnswer::Refused(refusal, message) => {
                purpose.error(message.clone(), &message, Some(refusal))
            }
            NoAnswer::Incomplete => {
                let excerpt = excerpt(self.text.trim().as_bytes());
                // The runtime's own codes are small.
                #[allow(clippy::cast_possible_truncation)]
                let code = self.exit_code as i32;
                purpose.failed(
                    format!(
                        "the target's shell ended with exit code {code} before it had answered: \
                         {excerpt}"
                    ),
                    &excerpt,
                )
            }
        })
    }
}
