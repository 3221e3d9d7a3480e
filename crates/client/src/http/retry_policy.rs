//! Whether a request is made again, and what the caller has to say about it.

use std::fmt;
use std::rc::Rc;

use futures_util::future::LocalBoxFuture;

use super::Backoff;
use super::backoff::is_transient;
use crate::{Error, Operation, Result};

/// When something is tried again: `retry` of `connect()`.
#[derive(Clone, Debug, Default)]
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
        failed: &FailedAttempt<'_>,
    ) -> Option<LocalBoxFuture<'static, Result<RetryDecision>>>;

    /// Tells of an attempt that is to follow, if the caller wants to know.
    fn on_retry(&self, failed: &FailedAttempt<'_>) -> Option<LocalBoxFuture<'static, Result<()>>>;
}

impl fmt::Debug for dyn RetryHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RetryHooks")
    }
}

/// What a caller says to a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetryDecision {
    /// Try again after the usual pause.
    Yes,
    /// Do not try again.
    No,
    /// Try again after so many milliseconds.
    After(f64),
}

/// A failure that may be followed by another attempt.
#[derive(Clone, Copy, Debug)]
pub struct FailedAttempt<'a> {
    /// What the request was for.
    pub operation: Operation,
    /// 1 for the first.
    pub attempt: u32,
    /// How it failed.
    pub error: &'a Error,
    /// The pause before the next attempt, in milliseconds.
    pub delay_ms: f64,
    /// Whether another attempt follows where the caller's functions do not decide.
    pub will_retry: bool,
}

impl RetryPolicy {
    /// Whether to try again, and after how many milliseconds; None: not at all.
    ///
    /// # Errors
    /// What the caller's functions throw. And the failure itself, where it would be tried again and the server
    /// asks for a longer pause than is allowed.
    pub async fn decide(&self, failed: FailedAttempt<'_>) -> Result<Option<f64>> {
        let refusal = failed.error.asking_too_long(self.backoff.max_delay_ms);
        let default = if failed.will_retry { RetryDecision::Yes } else { RetryDecision::No };
        let failed = FailedAttempt { will_retry: failed.will_retry && refusal.is_none(), ..failed };
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
        let failed = FailedAttempt { delay_ms, ..failed };
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
