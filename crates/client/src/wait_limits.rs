//! What ends a wait before what is waited for has come.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};

use crate::abort::aborted_error;
use crate::{AbortSignal, Error, Host, HostValue};

/// How long to wait, where what is waited for goes on afterwards.
#[derive(Clone, Default)]
pub struct WaitLimits {
    /// In milliseconds; None: for ever.
    pub timeout_ms: Option<f64>,
    /// Aborted: the wait ends.
    pub signal: Option<AbortSignal>,
}

/// Why a wait has ended.
pub(crate) enum WaitEnd {
    /// So many milliseconds have passed.
    TimedOut(f64),
    /// The signal was aborted.
    Aborted(Option<HostValue>),
}

impl WaitLimits {
    /// Resolves when the wait is to end. The time runs from now on.
    pub(crate) fn end(self, host: &dyn Host) -> LocalBoxFuture<'static, WaitEnd> {
        let timeout_ms = self.timeout_ms.unwrap_or(f64::INFINITY);
        let timeout = host.sleep(timeout_ms);
        Box::pin(async move {
            let aborted = async {
                match &self.signal {
                    Some(signal) => signal.aborted().await,
                    None => pending().await,
                }
            };
            match select(pin!(aborted), timeout).await {
                Either::Left((reason, _)) => WaitEnd::Aborted(reason),
                Either::Right(_) => WaitEnd::TimedOut(timeout_ms),
            }
        })
    }
}

impl WaitEnd {
    /// What the wait fails with; `timed_out` makes the error of a time that has passed.
    pub(crate) fn into_error(self, timed_out: impl FnOnce(f64) -> Error) -> Box<Error> {
        match self {
            Self::TimedOut(milliseconds) => timed_out(milliseconds).into(),
            Self::Aborted(reason) => aborted_error(reason),
        }
    }
}
