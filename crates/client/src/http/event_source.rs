//! Server-Sent Events of what goes on and on, over as many connections as it takes.

use std::mem;

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::sse::Decoder;

use super::{
    EVENT_STREAM, HttpClient, IDLE_TIMEOUT_MS, Pause, ReconnectBackoff, Request, ResponseBody,
    RetryContext, is_retryable,
};
use crate::{Error, Operation, Result, error::whole_ms};

/// Reads the data of events. A connection that ends is made again; what each begins with is the agent's to say.
pub(crate) struct EventSource {
    http: HttpClient,
    operation: Operation,
    decoder: Decoder,
    body: Option<ResponseBody>,
    /// How many attempts in a row to connect have failed.
    failures: u32,
    reconnects: ReconnectBackoff,
    /// Nothing for so long is a connection that broke, in milliseconds; None where silence says nothing.
    max_silence_ms: Option<f64>,
    /// A connection broke so, and nobody has asked.
    was_silent: bool,
}

impl EventSource {
    /// One that has not connected.
    pub(crate) fn new(http: HttpClient, operation: Operation) -> Self {
        let reconnects = ReconnectBackoff::new(http.retry().backoff);
        Self {
            http,
            operation,
            decoder: Decoder::default(),
            body: None,
            failures: 0,
            reconnects,
            max_silence_ms: None,
            was_silent: false,
        }
    }

    /// From now on nothing for so long is a connection that broke, in milliseconds; None: silence says nothing.
    pub(crate) fn set_max_silence(&mut self, max_silence_ms: Option<f64>) {
        self.max_silence_ms = max_silence_ms;
    }

    /// Whether a connection broke by silence since this was last asked.
    pub(crate) fn take_silence(&mut self) -> bool {
        mem::take(&mut self.was_silent)
    }

    /// The data of the events that the next chunk completes; none where a connection has ended, so that the next can be another one.
    /// A connection is made to `path`.
    pub(crate) fn read<'a>(&'a mut self, path: &'a str) -> LocalBoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move {
            loop {
                let error = match self.read_chunk(path).await {
                    Ok(Some(events)) if events.is_empty() => continue,
                    Ok(Some(events)) => return Ok(events),
                    Ok(None) => None,
                    Err(error) => Some(error),
                };
                self.wait_to_reconnect(error).await?;
                return Ok(Vec::new());
            }
        })
    }

    /// What was read says something new.
    pub(crate) fn on_progress(&mut self) {
        self.reconnects.on_progress();
    }

    /// The events of the next chunk; None where the connection has ended.
    async fn read_chunk(&mut self, path: &str) -> Result<Option<Vec<String>>> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                self.decoder = Decoder::default();
                let request = Request {
                    accept: EVENT_STREAM,
                    ..Request::get(self.operation, path.to_owned())
                };
                let body = self.http.open(&request).await?;
                self.failures = 0;
                none.insert(body)
            }
        };
        let limit_ms = self.max_silence_ms.unwrap_or(IDLE_TIMEOUT_MS);
        let Ok(chunk) = body.read_unless_silent(limit_ms).await else {
            // It may be dead, it may be idle: another one tells.
            let silent = self.body.take();
            let silent = silent.filter(|_| self.max_silence_ms.is_some());
            self.was_silent |= silent.is_some();
            let reason = || format!("nothing came for {} ms", whole_ms(limit_ms));
            return silent.map_or(Ok(Some(Vec::new())), |body| Err(body.cut_off(&reason())));
        };
        let Some(chunk) = chunk? else {
            return Ok(None);
        };
        let mut events = Vec::new();
        let fed = self.decoder.feed(chunk, &mut |event| {
            if !event.data.is_empty() {
                events.push(event.text().into_owned());
            }
        });
        fed.map_err(|error| {
            let (problem, excerpt) = (error.to_string(), String::new());
            Error::Protocol { operation: self.operation, problem, excerpt }
        })?;
        Ok(Some(events))
    }

    /// Waits after a connection that ended, or broke by an error.
    ///
    /// # Errors
    /// `error`, where another connection would not help.
    pub(crate) async fn wait_to_reconnect(&mut self, error: Option<Box<Error>>) -> Result<()> {
        let lasted_ms = if let Some(body) = self.body.take() {
            body.age_ms()
        } else {
            self.failures += 1;
            0.0
        };
        let error = match error {
            Some(error) if is_retryable(&error) => error,
            Some(error) => return Err(error),
            None => Box::new(Error::Protocol {
                operation: self.operation,
                problem: "the agent ended the stream without an event".to_owned(),
                excerpt: String::new(),
            }),
        };
        let retry = self.http.retry();
        if self.failures > retry.backoff.max_attempts {
            return Err(error);
        }
        let Pause { attempt, delay_ms } =
            self.reconnects.pause(lasted_ms, self.http.random(), error.retry_after_ms());
        let failed = RetryContext::new(self.operation, attempt, &error, delay_ms, true);
        match retry.decide(failed).await? {
            Some(delay_ms) => self.http.pause(delay_ms).await,
            None => Err(error),
        }
    }
}
