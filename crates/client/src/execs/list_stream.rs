//! The list of all execs as it changes.

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::sse::Decoder;

use super::ListEvent;
use crate::http::{
    EVENT_STREAM, Pause, ReconnectBackoff, Request, ResponseBody, RetryContext, is_retryable,
    read_json,
};
use crate::{AbortSignal, Agent, Error, Feature, Operation, Result};

const OPERATION: Operation = Operation::StreamList;

/// Reads the list, over as many connections as it takes: each begins with the list as it is. What comes after it
/// is the list again, or with the extension `list-changes` what has changed.
pub struct ListStream {
    agent: Agent,
    decoder: Decoder,
    body: Option<ResponseBody>,
    /// How many attempts in a row to connect have failed.
    failures: u32,
    reconnects: ReconnectBackoff,
    /// The newest event, as it came: the list that a new connection begins with may be the same.
    newest: String,
}

impl ListStream {
    /// A stream of the list. It connects with the first read.
    pub fn new(agent: Agent) -> Self {
        let reconnects = ReconnectBackoff::new(agent.http.retry().backoff);
        let (decoder, newest) = Default::default();
        Self { agent, decoder, body: None, failures: 0, reconnects, newest }
    }

    /// What the next chunk says of the list, at least one event.
    pub fn next_events(&mut self) -> LocalBoxFuture<'_, Result<Vec<ListEvent>>> {
        Box::pin(self.read())
    }

    /// Aborted: the reading ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }

    async fn read(&mut self) -> Result<Vec<ListEvent>> {
        loop {
            let error = match self.read_chunk().await {
                Ok(Some(changes)) if changes.is_empty() => continue,
                Ok(Some(changes)) => {
                    self.reconnects.on_progress();
                    return Ok(changes);
                }
                Ok(None) => None,
                Err(error) if is_retryable(&error) => Some(error),
                Err(error) => return Err(error),
            };
            self.wait_to_reconnect(error).await?;
        }
    }

    /// What the next chunk changes in the list; None where the connection has ended.
    async fn read_chunk(&mut self) -> Result<Option<Vec<ListEvent>>> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                self.decoder = Decoder::default();
                let changes = self.agent.offers(Feature::ListChanges).await?;
                let query = if changes { "?changes=true" } else { "" };
                let path = format!("/api/v1/stream/execs{query}");
                let request = Request { accept: EVENT_STREAM, ..Request::get(OPERATION, path) };
                let body = self.agent.http.open(&request).await?;
                self.failures = 0;
                none.insert(body)
            }
        };
        let Ok(chunk) = body.read_unless_idle().await else {
            // It may be dead, it may be idle: another one tells.
            self.body = None;
            return Ok(Some(Vec::new()));
        };
        let Some(chunk) = chunk? else {
            return Ok(None);
        };
        let mut events = Vec::new();
        self.decoder.feed(chunk, &mut |event| events.push(event.text().into_owned())).map_err(
            |error| {
                let (problem, excerpt) = (error.to_string(), String::new());
                Error::Protocol { operation: OPERATION, problem, excerpt }
            },
        )?;
        let mut changes = Vec::new();
        for data in events {
            if !data.is_empty() && data != self.newest {
                changes.push(read_json(OPERATION, data.as_bytes())?);
                self.newest = data;
            }
        }
        Ok(Some(changes))
    }

    /// Waits after a connection that ended, or broke by an error.
    async fn wait_to_reconnect(&mut self, error: Option<Box<Error>>) -> Result<()> {
        let lasted_ms = if let Some(body) = self.body.take() {
            body.age_ms()
        } else {
            self.failures += 1;
            0.0
        };
        let error = error.unwrap_or_else(|| {
            Box::new(Error::Protocol {
                operation: OPERATION,
                problem: "the agent ended the list without a change".to_owned(),
                excerpt: String::new(),
            })
        });
        let retry = self.agent.http.retry();
        if self.failures > retry.backoff.max_attempts {
            return Err(error);
        }
        let Pause { attempt, delay_ms } =
            self.reconnects.pause(lasted_ms, self.agent.http.random(), error.retry_after_ms());
        let failed = RetryContext::new(OPERATION, attempt, &error, delay_ms, true);
        match retry.decide(failed).await? {
            Some(delay_ms) => self.agent.http.pause(delay_ms).await,
            None => Err(error),
        }
    }
}
