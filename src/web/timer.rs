use std::future::pending;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use gloo_timers::future::TimeoutFuture;

/// The longest that `setTimeout` takes: a signed 32-bit number.
const MAX_TIMER_MS: f64 = i32::MAX as f64;

/// Waits so many milliseconds from this call on; for ever, if they are infinite.
pub(super) fn sleep(milliseconds: f64) -> LocalBoxFuture<'static, ()> {
    if milliseconds.is_infinite() {
        return pending().boxed_local();
    }
    let mut rest = milliseconds.ceil();
    let mut timer = next_timer(&mut rest);
    async move {
        while let Some(part) = timer {
            part.await;
            timer = next_timer(&mut rest);
        }
    }
    .boxed_local()
}

/// The timer of the next part of what is left to wait.
fn next_timer(rest: &mut f64) -> Option<TimeoutFuture> {
    if *rest <= 0.0 {
        return None;
    }
    let part = rest.min(MAX_TIMER_MS);
    *rest -= part;
    // A whole number between 0 and the longest.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(TimeoutFuture::new(part as u32))
}
