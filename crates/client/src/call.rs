//! Calls as a binding makes them.

use std::future::Future;

use futures_util::future::LocalBoxFuture;

use crate::error::Result;

/// A call that is under way. In a box: its code is here, once. That of an `async fn` is compiled anew into every crate
/// that awaits it, with all that it awaits.
pub type Call<T> = LocalBoxFuture<'static, Result<T>>;

/// Puts a call into a box.
pub(crate) fn call<T>(calling: impl Future<Output = Result<T>> + 'static) -> Call<T> {
    Box::pin(calling)
}
