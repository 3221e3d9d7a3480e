use std::future::pending;

use gloo_timers::future::TimeoutFuture;

/// Waits so many milliseconds; for ever, if they are infinite.
pub(crate) async fn sleep(milliseconds: f64) {
    // The longest that `setTimeout` takes: a signed 32-bit number.
    const LONGEST: f64 = i32::MAX as f64;
    if milliseconds.is_infinite() {
        return pending().await;
    }
    let mut rest = milliseconds.ceil();
    while rest > 0.0 {
        let part = rest.min(LONGEST);
        // A whole number between 0 and the longest.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        TimeoutFuture::new(part as u32).await;
        rest -= part;
    }
}
