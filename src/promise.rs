use std::future::Future;

use futures_util::future::LocalBoxFuture;
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::errors::or_throw;
use sandpipe_client::error::Result;

/// The promise of a call that JS made.
pub(crate) fn promise(outcome: impl Future<Output = Result<JsValue>> + 'static) -> Promise {
    // Of one type, whatever the call: what makes promises of futures is large, and is there once.
    let outcome: LocalBoxFuture<'static, Result<JsValue>> = Box::pin(outcome);
    future_to_promise(async { or_throw(outcome.await) })
}

/// What a call resolves that gives nothing.
pub(crate) fn done(outcome: Result<()>) -> Result<JsValue> {
    outcome.map(|()| JsValue::UNDEFINED)
}
