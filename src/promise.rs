//! Promises of the client's calls.

use futures_util::future::LocalBoxFuture;
use js_sys::Promise;
use sandpipe_client::{Call, Result};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::errors::or_throw;
use crate::shim::shim;

/// The promise of a call of the client's: an argument may be wrong, and `give` says what it resolves.
///
/// By the type of its result, not by the call: what is made of a future is large.
pub(crate) fn promise_of<T: 'static>(
    called: Result<Call<T>>,
    give: fn(T) -> Result<JsValue>,
) -> Promise {
    promise(Box::pin(async move { give(called?.await?) }))
}

/// The promise of a call that JS made.
pub(crate) fn promise(outcome: LocalBoxFuture<'static, Result<JsValue>>) -> Promise {
    let promise = future_to_promise(async { or_throw(outcome.await) });
    shim().settle(&promise).unwrap_or(promise)
}

/// What a call resolves that gives nothing.
#[allow(clippy::unnecessary_wraps)] // As all that a call gives.
pub(crate) fn nothing((): ()) -> Result<JsValue> {
    Ok(JsValue::UNDEFINED)
}
