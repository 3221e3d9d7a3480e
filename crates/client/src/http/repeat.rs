//! Making a request again.

use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::json::FromJson;

use super::{HttpClient, Request, RetryContext, is_retryable, read_json};
use crate::{Call, Error, Operation, Result};

impl HttpClient {
    /// Makes a request, as often as it takes and is allowed; gives what its answer says.
    pub(crate) fn ask<T: FromJson + 'static>(&self, request: Request) -> Call<T> {
        let (operation, sending) = (request.operation, self.send(request, None));
        Box::pin(async move { read_json(operation, &sending.await?.unwrap_or_default()) })
    }

    /// The same, for what can be done but once: None where an attempt whose answer was lost has done it, which an
    /// answer with the status `done` to a later one shows.
    pub(crate) fn send(&self, request: Request, done: Option<u16>) -> Call<Option<Vec<u8>>> {
        let http = self.clone();
        Box::pin(async move {
            let mut may_be_done = false;
            let attempt = async || match http.send_once(&request).await {
                Err(error) if may_be_done && done.is_some() && error.status_of_agent() == done => {
                    Ok(None)
                }
                Err(error) => {
                    may_be_done |= error.is_ambiguous();
                    Err(error)
                }
                answer => answer.map(Some),
            };
            http.repeat(request.operation, |_| !request.once, attempt).await
        })
    }

    /// Makes a request once and reads the whole answer.
    async fn send_once(&self, request: &Request) -> Result<Vec<u8>> {
        self.open(request).await?.read_to_end().await
    }

    /// Makes attempts until one succeeds, or fails for good, as long as another attempt could do no harm: where it
    /// could, not even the caller is asked.
    pub(crate) async fn repeat<T>(
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
    pub(crate) fn pause_or_fail(
        &self,
        operation: Operation,
        attempts: u32,
        error: Box<Error>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let retry = self.retry();
            if attempts >= retry.backoff.max_attempts || !error.is_failed_request() {
                return Err(error);
            }
            let delay_ms = retry.backoff.delay(attempts, self.random(), error.retry_after_ms());
            let will_retry = is_retryable(&error);
            let failed = RetryContext::new(operation, attempts, &error, delay_ms, will_retry);
            match retry.decide(failed).await? {
                Some(delay_ms) => self.pause(delay_ms).await,
                None => Err(error),
            }
        })
    }

    /// Waits, unless it is closed meanwhile.
    pub(crate) fn pause(&self, milliseconds: f64) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match select(pin!(self.scope.aborted()), self.host().sleep(milliseconds)).await {
                Either::Left(_) => Err(Error::Closed.into()),
                Either::Right(_) => Ok(()),
            }
        })
    }
}
