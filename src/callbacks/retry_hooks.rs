//! `retry` of `connect()`: its functions are the caller's.

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Function, Object, Promise, Reflect};
use sandpipe_client::Result;
use sandpipe_client::http::{Backoff, RetryContext, RetryDecision, RetryHooks, RetryPolicy};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::arguments::{function, milliseconds, positive};
use crate::errors::to_js;
use crate::fields::{Options, options};
use crate::web::value::thrown;

options! {
    /// When something is tried again. Only what may be repeated is: no command is ever run twice.
    ///
    /// A request is tried `maxAttempts` times in all. A stream that ends or breaks is opened again where it was,
    /// after the agent has been asked what became of the command: `maxAttempts` failures in a row to reach the
    /// agent are borne, and whenever it answers the count begins anew. A command may be silent for hours behind a
    /// proxy that ends every stream.
    interface "RetryOptions"
    struct RetryOptions {
        /// How often something is tried. Default: 3.
        "maxAttempts" "?: number" =>
            max_attempts: u32 = optional positive or Backoff::default().max_attempts,
        /// The pause after the first failure, in milliseconds; it doubles with each further one. Default: 500.
        /// A stream is opened again at once after one that lasted a second or brought something; where streams
        /// end at once, the first time at once and then after such pauses.
        "baseDelayMs" "?: number" =>
            base_delay_ms: f64 = optional milliseconds or Backoff::default().base_delay_ms,
        /// The longest pause, in milliseconds. Default: 30 000. A server's `Retry-After` is obeyed up to this; where
        /// it asks for more the call fails at once, and the error says so.
        "maxDelayMs" "?: number" =>
            max_delay_ms: f64 = optional milliseconds or Backoff::default().max_delay_ms,
        /// Whether to try again after a failure: a number is the pause in milliseconds. Default: after no
        /// answer and after the statuses 408, 429, 500, 502, 503 and 504, and to resume a stream whenever
        /// it ends without an exit code. It is not asked where another attempt could run a command twice.
        "shouldRetry" "?(context: RetryContext): boolean | number | Promise<boolean | number>" =>
            should_retry: Option<Function> = optional function,
        /// Called before the pause of each retry.
        "onRetry" "?(context: RetryContext): void | Promise<void>" =>
            on_retry: Option<Function> = optional function,
    }
}

/// Reads `options.retry`.
pub(crate) fn read_retry(value: &JsValue, name: &str) -> Result<RetryPolicy> {
    let mut options = RetryOptions::read_required(value, name)?;
    // They are methods: `this` is the object that has them.
    for function in [&mut options.should_retry, &mut options.on_retry] {
        *function = function.take().map(|function| function.bind0(value));
    }
    let RetryOptions { max_attempts, base_delay_ms, max_delay_ms, .. } = options;
    let backoff = Backoff { max_attempts, base_delay_ms, max_delay_ms };
    Ok(RetryPolicy { backoff, hooks: Some(Rc::new(options)) })
}

impl RetryHooks for RetryOptions {
    fn should_retry(
        &self,
        failed: &RetryContext<'_>,
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

    fn on_retry(&self, failed: &RetryContext<'_>) -> Option<LocalBoxFuture<'static, Result<()>>> {
        let calling = call(self.on_retry.as_ref()?, failed);
        Some(calling.map(|called| called.map(drop)).boxed_local())
    }
}

/// Calls a function of the caller's with a `RetryContext` and awaits what it returns.
fn call(
    function: &Function,
    failed: &RetryContext<'_>,
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

/// The `RetryContext` that a failed attempt is in JS.
fn context(failed: &RetryContext<'_>) -> std::result::Result<Object, JsValue> {
    let RetryContext { operation, attempt, error, status, delay_ms, will_retry } = *failed;
    let context = Object::new();
    let set = |name: &str, value: &JsValue| Reflect::set(&context, &name.into(), value);
    set("operation", &operation.name().into())?;
    set("attempt", &attempt.into())?;
    set("error", &to_js(error))?;
    if let Some(status) = status {
        set("status", &status.into())?;
    }
    set("delay", &delay_ms.into())?;
    set("willRetry", &will_retry.into())?;
    Ok(context)
}
