use std::cell::RefCell;

use futures_util::future::LocalBoxFuture;
use js_sys::{Function, Promise};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::future_to_promise;

use crate::errors::or_throw;
use sandpipe_client::{Call, Result};

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
    let settle = SETTLE.with_borrow(Clone::clone);
    let settled = settle.and_then(|settle| settle.call1(&JsValue::UNDEFINED, &promise).ok());
    settled.map_or(promise, JsCast::unchecked_into)
}

thread_local! {
    static SETTLE: RefCell<Option<Function>> = const { RefCell::new(None) };
}

/// Says what becomes of each promise before a caller gets it. To be called once, before all else.
#[wasm_bindgen(js_name = settleWith)]
pub fn settle_with(
    #[wasm_bindgen(unchecked_param_type = "<T>(promise: Promise<T>) => Promise<T>")]
    settle: Function,
) {
    SETTLE.set(Some(settle));
}

/// What a call resolves that gives nothing.
#[allow(clippy::unnecessary_wraps)] // As all that a call gives.
pub(crate) fn nothing((): ()) -> Result<JsValue> {
    Ok(JsValue::UNDEFINED)
}
