//! When a request is made again.

use js_sys::{Function, Math, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::arguments::{Fields, function, milliseconds, positive};
use crate::errors::{thrown, to_js};
use sandpipe_client::error::{Error, Result};
use sandpipe_client::http::backoff::{Backoff, is_transient};
use sandpipe_client::operation::Operation;

/// When something is tried again: `retry` of `connect()`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetryPolicy {
    pub(crate) backoff: Backoff,
    should_retry: Option<Function>,
    on_retry: Option<Function>,
}

/// A failure that may be followed by another attempt.
#[derive(Debug)]
pub(crate) struct Failure<'a> {
    pub(crate) operation: Operation,
    /// 1 for the first.
    pub(crate) attempt: u32,
    pub(crate) error: &'a Error,
    /// The pause before the next attempt, in milliseconds.
    pub(crate) delay_ms: f64,
}

impl RetryPolicy {
    /// Reads `options.retry`.
    pub(crate) fn read(value: &JsValue, name: &str) -> Result<Self> {
        let fields = Fields::of(value, name)?;
        fields.only(&["maxAttempts", "baseDelayMs", "maxDelayMs", "shouldRetry", "onRetry"])?;
        let default = Backoff::default();
        Ok(Self {
            backoff: Backoff {
                max_attempts: fields
                    .optional("maxAttempts", positive)?
                    .unwrap_or(default.max_attempts),
                base_delay_ms: fields
                    .optional("baseDelayMs", milliseconds)?
                    .unwrap_or(default.base_delay_ms),
                max_delay_ms: fields
                    .optional("maxDelayMs", milliseconds)?
                    .unwrap_or(default.max_delay_ms),
            },
            should_retry: fields.optional("shouldRetry", function)?,
            on_retry: fields.optional("onRetry", function)?,
        })
    }

    /// The pause before the attempt after so many failures in a row, in milliseconds.
    pub(crate) fn delay(&self, failures: u32, error: &Error) -> f64 {
        self.backoff.delay(failures, Math::random(), error.retry_after_ms())
    }

    /// Whether to try again, and after how many milliseconds; None: not at all. `worth_it` is what
    /// holds where the caller has no `shouldRetry`.
    ///
    /// # Errors
    /// What the caller's functions throw. And the failure itself, where it would be tried again and the server
    /// asks for a longer pause than is allowed.
    pub(crate) async fn verdict(
        &self,
        failure: &Failure<'_>,
        worth_it: bool,
    ) -> Result<Option<f64>> {
        let delay = match &self.should_retry {
            None => self.delay_before(failure, worth_it)?,
            Some(should_retry) => {
                let verdict = call(should_retry, failure, failure.delay_ms).await?;
                match verdict.as_f64() {
                    Some(_) => Some(milliseconds(&verdict, "what `retry.shouldRetry` returns")?),
                    None => self.delay_before(failure, verdict.is_truthy())?,
                }
            }
        };
        if let (Some(delay), Some(on_retry)) = (delay, &self.on_retry) {
            call(on_retry, failure, delay).await?;
        }
        Ok(delay)
    }

    /// The pause before the next attempt, if there is to be one.
    fn delay_before(&self, failure: &Failure<'_>, is_wanted: bool) -> Result<Option<f64>> {
        match failure.error.asking_too_long(self.backoff.max_delay_ms) {
            Some(refusal) if is_wanted => Err(refusal),
            _ => Ok(is_wanted.then_some(failure.delay_ms)),
        }
    }
}

/// Whether trying again could help: no answer, or one that says that the trouble passes.
pub(crate) fn is_worth_repeating(error: &Error) -> bool {
    match error {
        Error::Network { .. } => true,
        Error::Http { status, .. } => is_transient(*status),
        _ => false,
    }
}

/// Calls a function of the caller's with a `RetryContext` and awaits what it returns.
async fn call(function: &Function, failure: &Failure<'_>, delay_ms: f64) -> Result<JsValue> {
    let context = Object::new();
    let set =
        |name: &str, value: &JsValue| Reflect::set(&context, &name.into(), value).map_err(thrown);
    set("operation", &failure.operation.to_string().into())?;
    set("attempt", &failure.attempt.into())?;
    set("error", &to_js(failure.error))?;
    if let Some(status) = failure.error.status() {
        set("status", &status.into())?;
    }
    set("delay", &delay_ms.into())?;
    let returned = function.call1(&JsValue::UNDEFINED, &context).map_err(thrown)?;
    JsFuture::from(Promise::resolve(&returned)).await.map_err(thrown)
}
