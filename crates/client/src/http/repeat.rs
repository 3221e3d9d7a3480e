//! Making a request again.

use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::json::FromJson;

use super::client::HttpClient;
use super::request::Request;
use super::response::read_json;
use super::retry_policy::{FailedAttempt, is_retryable};
use crate::call::{Call, call};
use crate::error::{Error, Result};
use crate::operation::Operation;

impl HttpClient {
    /// Makes a request that may be repeated, as often as it takes and is allowed; gives what its answer says.
    pub fn ask<T: FromJson + 'static>(&self, request: Request) -> Call<T> {
        let (operation, sending) = (request.operation, self.send(request));
        call(async move { read_json(operation, &sending.await?) })
    }

    fn send(&self, request: Request) -> Call<Vec<u8>> {
        let http = self.clone();
        call(async move {
            let attempt = async || http.send_once(&request).await;
            http.repeat(request.operation, attempt).await
        })
    }

    /// The same, once.
    pub fn ask_once<T: FromJson + 'static>(&self, request: Request) -> Call<T> {
        let http = self.clone();
        call(async move { read_json(request.operation, &http.send_once(&request).await?) })
    }

    /// Makes a request once and reads the whole answer.
    pub fn send_once<'a>(&'a self, request: &'a Request) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async { self.open(request).await?.read_to_end().await })
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
    fn pause_or_fail(
        &self,
        operation: Operation,
        attempts: u32,
        error: Box<Error>,
    ) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let retry = self.retry();
            if attempts >= retry.backoff.max_attempts || !error.is_answer() {
                return Err(error);
            }
            let delay_ms = retry.backoff.delay(attempts, self.random(), error.retry_after_ms());
            let will_retry = is_retryable(&error);
            let failed =
                FailedAttempt { operation, attempt: attempts, error: &error, delay_ms, will_retry };
            match retry.decide(failed).await? {
                Some(delay_ms) => self.pause(delay_ms).await,
                None => Err(error),
            }
        })
    }

    /// Waits, unless it is closed meanwhile.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn pause(&self, milliseconds: f64) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(async move {
            match select(pin!(self.scope.aborted()), self.host().sleep(milliseconds)).await {
                Either::Left(_) => Err(Error::Closed.into()),
                Either::Right(_) => Ok(()),
            }
        })
    }
}
