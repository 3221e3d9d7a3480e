//! Calling the function that runs scripts: the one file here that performs I/O.

use std::pin::pin;

use futures_util::future::{Either, select};
use js_sys::{Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortSignal;

use super::answer::{Answer, NoAnswer};
use super::location::ProcessId;
use super::script::Script;
use crate::abort::Abort;
use crate::arguments;
use crate::errors::{js_value, thrown};
use crate::request::excerpt;
use sandpipe_client::error::{Error, Refusal, Result};
use sandpipe_client::host_value::HostValue;
use sandpipe_client::nonce::Nonce;
use sandpipe_client::operation::Operation;

/// Something with a shell.
#[derive(Clone, Debug)]
pub(super) struct Runtime {
    run: Function,
}

/// What a script is for: for error messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Purpose<'a> {
    pub(super) operation: &'static str,
    pub(super) id: Option<&'a ProcessId>,
}

impl Purpose<'_> {
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
    pub(super) fn lost(self, error: Box<Error>) -> Box<Error> {
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

/// Whether the runtime says for sure that it has not run the script.
///
/// A sandbox does that with an error of a create: where the create may have been carried out the error is
/// [`Error::CreateUnknown`], and later ones are of other operations.
pub(super) fn not_run(error: &Error) -> bool {
    let Error::Thrown(thrown) = error else {
        return false;
    };
    let thrown = js_value(thrown);
    let field = |name: &str| Reflect::get(&thrown, &name.into()).unwrap_or_default();
    let text = |name: &str| field(name).as_string();
    field("mayHaveRun").as_bool() == Some(false)
        || text("operation") == Some(Operation::CreateExec.to_string())
        || text("code").as_deref() == Some("invalid_argument")
}

fn abort_error(reason: Option<HostValue>) -> Box<Error> {
    reason.map_or_else(|| thrown(JsValue::UNDEFINED), Error::thrown)
}

impl Runtime {
    pub(super) fn read(run: &JsValue) -> Result<Self> {
        Ok(Self { run: arguments::function(run, "runtime.run")? })
    }

    /// Runs one script, once, and takes what is wanted out of its answer with `read`, which gives None
    /// where that is not there.
    pub(super) async fn ask<T>(
        &self,
        purpose: Purpose<'_>,
        script: &Script,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        self.call(purpose, script, None).await?.take(purpose, read)
    }

    /// The same, until a signal is aborted: then it fails with the signal's reason.
    pub(super) async fn ask_until<T>(
        &self,
        purpose: Purpose<'_>,
        script: &Script,
        signal: Option<&AbortSignal>,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        let Some(signal) = signal else {
            return self.ask(purpose, script, read).await;
        };
        let mut abort = Abort::listen(signal.clone());
        if let Some(reason) = abort.aborted_before() {
            return Err(abort_error(reason));
        }
        let calling = pin!(self.call(purpose, script, Some(signal)));
        let aborted = pin!(abort.aborted());
        match select(aborted, calling).await {
            Either::Left((reason, _)) => Err(abort_error(reason)),
            Either::Right((output, _)) => output?.take(purpose, read),
        }
    }

    async fn call(
        &self,
        purpose: Purpose<'_>,
        script: &Script,
        signal: Option<&AbortSignal>,
    ) -> Result<Output> {
        let nonce = Nonce::of_bytes(uuid::Uuid::new_v4().into_bytes());
        let script = script.render(&nonce);
        let options = Object::new();
        if let Some(signal) = signal {
            Reflect::set(&options, &"signal".into(), signal).map_err(thrown)?;
        }
        let promise =
            self.run.call2(&JsValue::UNDEFINED, &script.into(), &options).map_err(thrown)?;
        let result = JsFuture::from(Promise::resolve(&promise)).await.map_err(thrown)?;
        let field = |name: &str| Reflect::get(&result, &name.into()).ok();
        let exit_code = field("exitCode").and_then(|code| code.as_f64());
        let output = field("output").and_then(|output| output.as_string());
        match (exit_code, output) {
            (Some(exit_code), Some(output)) => Ok(Output { exit_code, text: output, nonce }),
            _ => {
                Err(purpose
                    .failed("the runtime resolved something else than { exitCode, output }", ""))
            }
        }
    }
}

/// What a script printed, its answer amid it.
struct Output {
    exit_code: f64,
    text: String,
    nonce: Nonce,
}

impl Output {
    fn take<T>(
        &self,
        purpose: Purpose<'_>,
        read: impl FnOnce(&Answer<'_>) -> Option<T>,
    ) -> Result<T> {
        read(&self.answer(purpose)?).ok_or_else(|| purpose.unreadable(&self.text))
    }

    fn answer(&self, purpose: Purpose<'_>) -> Result<Answer<'_>> {
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
