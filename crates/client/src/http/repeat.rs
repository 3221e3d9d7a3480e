//! Making a request again.

use std::pin::pin;

use futures_util::future::{Either, select};

use super::client::HttpClient;
use super::request::Request;
use super::retry_policy::{FailedAttempt, is_retryable};
use crate::error::{Error, Result};
use crate::operation::Operation;

impl HttpClient {
    /// Makes a request that may be repeated, as often as it takes and is allowed, and reads the whole
    /// answer.
    ///
    /// # Errors
    /// The last attempt brought no answer, or one with another status than 2xx.
    pub async fn send(&self, request: &Request) -> Result<Vec<u8>> {
        self.repeat(request.operation, async || self.send_once(request).await).await
    }

    /// Makes a request once and reads the whole answer.
    ///
    /// # Errors
    /// No answer, or one with another status than 2xx.
    pub async fn send_once(&self, request: &Request) -> Result<Vec<u8>> {
        self.open(request).await?.read_to_end().await
    }

    /// Makes attempts until one succeeds, or fails for good.
    ///
    /// # Errors
    /// The error of the last attempt, or what the caller's hooks threw.
    pub async fn repeat<T>(
        &self,
        operation: Operation,
        attempt: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        self.repeat_while(operation, |_| true, attempt).await
    }

    /// The same, as long as another attempt could do no harm: where it could, not even the caller is
    /// asked.
    ///
    /// # Errors
    /// As those of [`HttpClient::repeat`].
    pub async fn repeat_while<T>(
        &self,
        operation: Operation,
        may_repeat: impl Fn(&Error) -> bool,
        mut attempt: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) if !may_repeat(&error) => return Err(error),
                Err(error) => self.pause_or_fail(operation, attempts, error).await?,
            }
        }
    }

    /// The pause after so many attempts that failed.
    ///
    /// # Errors
    /// `error`, where there is to be no other attempt.
    async fn pause_or_fail(
        &self,
        operation: Operation,
        attempts: u32,
        error: Box<Error>,
    ) -> Result<()> {
        let retry = self.retry();
        if attempts >= retry.backoff.max_attempts || !error.is_answer() {
            return Err(error);
        }
        let delay_ms = retry.backoff.delay(attempts, self.random(), error.retry_after_ms());
        let failed = FailedAttempt { operation, attempt: attempts, error: &error, delay_ms };
        match retry.decide(&failed, is_retryable(&error)).await? {
            Some(delay_ms) => self.pause(delay_ms).await,
            None => Err(error),
        }
    }

    /// Waits, unless it is closed meanwhile.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub async fn pause(&self, milliseconds: f64) -> Result<()> {
        let request = self.scope.enter()?;
        match select(self.host().sleep(milliseconds), pin!(request.closed())).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(Error::Closed.into()),
        }
    }
}
