//! `retry` of `connect()`: its functions are the caller's.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Function, Object, Promise, Reflect};
use sandpipe_client::error::Result;
use sandpipe_client::http::backoff::Backoff;
use sandpipe_client::http::retry_policy::{FailedAttempt, RetryDecision, RetryHooks, RetryPolicy};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::arguments::{Fields, function, milliseconds, positive};
use crate::errors::{thrown, to_js};

/// The caller's `shouldRetry` and `onRetry`.
#[derive(Debug)]
struct JsRetryHooks {
    should_retry: Option<Function>,
    on_retry: Option<Function>,
}

/// Reads `options.retry`.
pub(crate) fn read_retry(value: &JsValue, name: &str) -> Result<RetryPolicy> {
    let fields = Fields::of(value, name)?;
    fields.only(&["maxAttempts", "baseDelayMs", "maxDelayMs", "shouldRetry", "onRetry"])?;
    let default = Backoff::default();
    let backoff = Backoff {
        max_attempts: fields.optional("maxAttempts", positive)?.unwrap_or(default.max_attempts),
        base_delay_ms: fields
            .optional("baseDelayMs", milliseconds)?
            .unwrap_or(default.base_delay_ms),
        max_delay_ms: fields.optional("maxDelayMs", milliseconds)?.unwrap_or(default.max_delay_ms),
    };
    let hooks = JsRetryHooks {
        should_retry: fields.optional("shouldRetry", function)?,
        on_retry: fields.optional("onRetry", function)?,
    };
    Ok(RetryPolicy { backoff, hooks: Some(Rc::new(hooks)) })
}

impl RetryHooks for JsRetryHooks {
    fn should_retry(
        &self,
        failed: &FailedAttempt<'_>,
    ) -> Option<LocalBoxFuture<'static, Result<RetryDecision>>> {
        let asking = call(self.should_retry.as_ref()?, failed);
        let deciding = async {
            let decision = asking.await?;
            Ok(match decision.as_f64() {
                Some(_) => {
                    let name = "what `retry.shouldRetry` returns";
                    RetryDecision::After(milliseconds(&decision, name)?)
                }
                None if decision.is_truthy() => RetryDecision::Yes,
                None => RetryDecision::No,
            })
        };
        Some(deciding.boxed_local())
    }

    fn on_retry(&self, failed: &FailedAttempt<'_>) -> Option<LocalBoxFuture<'static, Result<()>>> {
        let telling = call(self.on_retry.as_ref()?, failed);
        Some(telling.map(|told| told.map(drop)).boxed_local())
    }
}

/// Calls a function of the caller's with a `RetryContext` and awaits what it returns.
fn call(
    function: &Function,
    failed: &FailedAttempt<'_>,
) -> LocalBoxFuture<'static, Result<JsValue>> {
    let called = context(failed)
        .and_then(|context| function.call1(&JsValue::UNDEFINED, &context))
        .map_err(thrown);
    async {
        let promise = Promise::resolve(&called?);
        JsFuture::from(promise).await.map_err(thrown)
    }
    .boxed_local()
}

fn context(failed: &FailedAttempt<'_>) -> std::result::Result<Object, JsValue> {
    let context = Object::new();
    let set = |name: &str, value: &JsValue| Reflect::set(&context, &name.into(), value);
    set("operation", &failed.operation.name().into())?;
    set("attempt", &failed.attempt.into())?;
    set("error", &to_js(failed.error))?;
    if let Some(status) = failed.error.status() {
        set("status", &status.into())?;
    }
    set("delay", &failed.delay_ms.into())?;
    Ok(context)
}
