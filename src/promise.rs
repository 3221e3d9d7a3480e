use futures_util::future::LocalBoxFuture;
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::errors::or_throw;
use sandpipe_client::call::Call;
use sandpipe_client::error::Result;

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
    future_to_promise(async { or_throw(outcome.await) })
}

/// What a call resolves that gives nothing.
#[allow(clippy::unnecessary_wraps)] // As all that a call gives.
pub(crate) fn nothing((): ()) -> Result<JsValue> {
    Ok(JsValue::UNDEFINED)
}
