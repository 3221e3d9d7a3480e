//! Asking the target by scripts.

use std::fmt;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, LocalBoxFuture, select};

use super::answer::{Answer, NoAnswer};
use super::location::ProcessId;
use super::script::Script;
use crate::abort::AbortSignal;
use crate::error::{Error, Refusal, Result};
use crate::host::Host;
use crate::host_value::{HostValue, Thrown};
use crate::http::response::excerpt;
use crate::nonce::Nonce;

/// Something with a shell, of the caller's.
pub trait Runtime {
    /// Runs a script to its end; it may end it when `signal` is aborted.
    fn run(
        &self,
        script: String,
        signal: Option<&AbortSignal>,
    ) -> LocalBoxFuture<'static, std::result::Result<ScriptResult, RunFailure>>;
}

impl fmt::Debug for dyn Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runtime")
    }
}

/// What a script has given.
#[derive(Clone, Debug)]
pub struct ScriptResult {
    /// What its shell ended with.
    pub exit_code: f64,
    /// All that it printed.
    pub output: String,
}

/// Why a script has given nothing.
#[derive(Clone, Debug)]
pub enum RunFailure {
    /// The runtime threw.
    Thrown {
        /// This.
        error: Thrown,
        /// It says for sure that it has not run the script.
        not_run: bool,
    },
    /// The runtime gave something that is no [`ScriptResult`].
    NoResult,
}

/// A target, by its runtime.
#[derive(Clone, Debug)]
pub(super) struct Target {
    runtime: Rc<dyn Runtime>,
    host: Rc<dyn Host>,
}

/// What a script is for: for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptCall<'a> {
    pub(super) operation: &'static str,
    pub(super) id: Option<&'a ProcessId>,
}

/// Why a target was not asked, or did not answer.
pub(super) struct ScriptFailure {
    pub(super) error: Box<Error>,
    /// The script was not run, for sure.
    pub(super) not_run: bool,
}

impl From<Box<Error>> for ScriptFailure {
    fn from(error: Box<Error>) -> Self {
        Self { error, not_run: false }
    }
}

impl ScriptCall<'_> {
    pub(super) fn failed(self, problem: impl Into<String>, output: &str) -> Box<Error> {
        self.error(problem.into(), output, None)
    }

    fn error(self, problem: String, output: &str, refusal: Option<Refusal>) -> Box<Error> {
        Box::new(Error::Background {
            operation: self.operation,
            problem,
            output: output.to_owned(),
            id: self.id.map(|id| id.as_str().to_owned()),
            refusal,
            cause: None,
        })
    }

    /// A failure after the process may have been started: its id is what is needed to ask again.
    pub(super) fn outcome_unknown(self, error: Box<Error>) -> Box<Error> {
        let Error::Thrown(cause) = &*error else {
            return error;
        };
        Box::new(Error::Background {
            operation: self.operation,
            problem: "the target can't be asked any more: it may still run".to_owned(),
            output: String::new(),
            id: self.id.map(|id| id.as_str().to_owned()),
            refusal: None,
            cause: Some(cause.clone()),
        })
    }

    /// An answer that is not what the script would have said.
    pub(super) fn unreadable(self, output: &str) -> Box<Error> {
        let excerpt = excerpt(output.trim().as_bytes());
        self.failed(format!("the target's answer can't be read: {excerpt}"), &excerpt)
    }
}

impl Target {
    pub(super) fn new(runtime: Rc<dyn Runtime>, host: Rc<dyn Host>) -> Self {
        Self { runtime, host }
    }

    pub(super) fn now_ms(&self) -> f64 {
        self.host.now_ms()
    }

    pub(super) fn new_id(&self) -> ProcessId {
        ProcessId::of_bytes(self.host.random_bytes())
    }

    /// Runs one script, once, and takes what is wanted out of its answer with `read`, which gives None
    /// where that is not there.
    pub(super) async fn ask<T>(
        &self,
        purpose: ScriptCall<'_>,
        script: &Script,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        self.try_ask(purpose, script, read).await.map_err(|failure| failure.error)
    }

    /// The same; a failure says whether the script was run.
    pub(super) async fn try_ask<T>(
        &self,
        purpose: ScriptCall<'_>,
        script: &Script,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> std::result::Result<T, ScriptFailure> {
        Ok(self.call(purpose, script, None).await?.take(purpose, read)?)
    }

    /// The same, until a signal is aborted: then it fails with the signal's reason.
    pub(super) async fn ask_until<T>(
        &self,
        purpose: ScriptCall<'_>,
        script: &Script,
        signal: Option<&AbortSignal>,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        let Some(signal) = signal else {
            return self.ask(purpose, script, read).await;
        };
        if signal.is_aborted() {
            return Err(aborted(signal.reason()));
        }
        let calling = pin!(self.call(purpose, script, Some(signal)));
        match select(pin!(signal.aborted()), calling).await {
            Either::Left((reason, _)) => Err(aborted(reason)),
            Either::Right((output, _)) => {
                output.map_err(|failure| failure.error)?.take(purpose, read)
            }
        }
    }

    async fn call(
        &self,
        purpose: ScriptCall<'_>,
        script: &Script,
        signal: Option<&AbortSignal>,
    ) -> std::result::Result<ScriptOutput, ScriptFailure> {
        let nonce = Nonce::of_bytes(self.host.random_bytes());
        let script = script.render(&nonce);
        match self.runtime.run(script, signal).await {
            Ok(ScriptResult { exit_code, output }) => {
                Ok(ScriptOutput { exit_code, text: output, nonce })
            }
            Err(RunFailure::Thrown { error, not_run }) => {
                Err(ScriptFailure { error: Error::thrown(error), not_run })
            }
            Err(RunFailure::NoResult) => {
                let problem = "the runtime resolved something else than { exitCode, output }";
                Err(purpose.failed(problem, "").into())
            }
        }
    }
}

/// The reason of an abort, as it is thrown.
fn aborted(reason: Option<HostValue>) -> Box<Error> {
    Error::thrown(reason.unwrap_or_else(|| HostValue::new(())))
}

/// What a script printed, its answer amid it.
struct ScriptOutput {
    exit_code: f64,
    text: String,
    nonce: Nonce,
}

impl ScriptOutput {
    fn take<T>(
        &self,
        purpose: ScriptCall<'_>,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        read(&self.answer(purpose)?).ok_or_else(|| purpose.unreadable(&self.text))
    }

    fn answer(&self, purpose: ScriptCall<'_>) -> Result<Answer<'_>> {
        Answer::find(&self.text, &self.nonce).map_err(|why| match why {
            NoAnswer::Missing => {
                let id = purpose.id.map_or("", ProcessId::as_str);
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
