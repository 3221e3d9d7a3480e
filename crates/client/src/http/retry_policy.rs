//! Whether a request is made again, and what the caller has to say about it.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;

use super::Backoff;
use super::backoff::is_transient;
use crate::{Error, Operation, Result};

/// When something is tried again: `retry` of `connect()`.
#[derive(Clone, Default)]
pub struct RetryPolicy {
    /// How often, and after what pauses.
    pub backoff: Backoff,
    /// The caller's functions, if there are any.
    pub hooks: Option<Rc<dyn RetryHooks>>,
}

/// Functions of the caller's that have a say in what is tried again.
pub trait RetryHooks {
    /// Asks whether to try again; None where the caller leaves that to the client.
    fn should_retry(
        &self,
        failed: &RetryContext<'_>,
    ) -> Option<LocalBoxFuture<'static, Result<RetryDecision>>>;

    /// Tells of an attempt that is to follow, if the caller wants to know.
    fn on_retry(&self, failed: &RetryContext<'_>) -> Option<LocalBoxFuture<'static, Result<()>>>;
}

/// What a caller says to a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetryDecision {
    /// Try again after the usual pause.
    Yes,
    /// There is no other attempt.
    No,
    /// Try again after so many milliseconds.
    After(f64),
}

/// A failure that another attempt may follow.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct RetryContext<'a> {
    /// What the request was for, such as `"create exec"`.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub operation: Operation,
    /// How many attempts have failed in a row, this one included. Of a stream: how many connections in a row,
    /// and questions in between, have come to nothing, or 1 after a connection that lasted; it may be more than
    /// `maxAttempts`, since only failures to reach the agent count there.
    pub attempt: u32,
    /// The failure.
    #[cfg_attr(feature = "typescript", tsify(type = "unknown"))]
    pub error: &'a Error,
    /// The HTTP status, if there was an answer.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub status: Option<u16>,
    /// The pause before the next attempt, in milliseconds.
    #[cfg_attr(feature = "typescript", serde(rename = "delay"))]
    pub delay_ms: f64,
    /// What happens without `shouldRetry`: whether another attempt follows.
    pub will_retry: bool,
}

impl<'a> RetryContext<'a> {
    pub(crate) fn new(
        operation: Operation,
        attempt: u32,
        error: &'a Error,
        delay_ms: f64,
        will_retry: bool,
    ) -> Self {
        Self { operation, attempt, error, status: error.status(), delay_ms, will_retry }
    }
}

impl RetryPolicy {
    /// Whether to try again, and after how many milliseconds; None: not at all.
    ///
    /// # Errors
    /// What the caller's functions throw. And the failure itself, where it would be tried again and the server
    /// asks for a longer pause than is allowed.
    pub async fn decide(&self, failed: RetryContext<'_>) -> Result<Option<f64>> {
        let refusal = failed.error.asking_too_long(self.backoff.max_delay_ms);
        let default = if failed.will_retry { RetryDecision::Yes } else { RetryDecision::No };
        let failed = RetryContext { will_retry: failed.will_retry && refusal.is_none(), ..failed };
        let decision = match self.hooks.as_ref().and_then(|hooks| hooks.should_retry(&failed)) {
            Some(deciding) => deciding.await?,
            None => default,
        };
        let delay_ms = match decision {
            RetryDecision::After(delay_ms) => delay_ms,
            RetryDecision::No => return Ok(None),
            RetryDecision::Yes => match refusal {
                Some(refusal) => return Err(refusal),
                None => failed.delay_ms,
            },
        };
        let failed = RetryContext { delay_ms, ..failed };
        if let Some(telling) = self.hooks.as_ref().and_then(|hooks| hooks.on_retry(&failed)) {
            telling.await?;
        }
        Ok(Some(delay_ms))
    }
}

/// Whether trying again could help: no answer, or one that says that the trouble passes.
pub(crate) fn is_retryable(error: &Error) -> bool {
    match error {
        Error::Network { .. } => true,
        Error::Http { status, .. } => is_transient(*status),
        _ => false,
    }
}
