//! The list of all execs as it changes.

use futures_util::future::LocalBoxFuture;

use super::ListEvent;
use crate::http::{EventSource, read_json};
use crate::{AbortSignal, Agent, Feature, Operation, Result};

const OPERATION: Operation = Operation::StreamList;

/// How many signs of life are due in the longest silence that a reader allows: one or two may be late.
const HEARTBEATS: u32 = 3;

/// How far apart signs of life can be asked for, in milliseconds: the agent's bounds.
const HEARTBEAT_MS: (u32, u32) = (100, 15_000);

/// Reads the list, over as many connections as it takes: each begins with the list as it is. What comes after it
/// is the list again, or with the extension `list-changes` what has changed.
pub struct ListStream {
    agent: Agent,
    source: EventSource,
    /// The newest event, as it came: the list that a new connection begins with may be the same.
    newest: String,
    max_silence_ms: Option<u32>,
}

impl ListStream {
    /// A stream of the list. It connects with the first read. Where the agent has the extension `heartbeat`, silence for longer than
    /// `max_silence_ms` is a connection that broke.
    pub fn new(agent: Agent, max_silence_ms: Option<u32>) -> Self {
        let source = EventSource::new(agent.http.clone(), OPERATION);
        Self { agent, source, newest: String::new(), max_silence_ms }
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
            let query = match self.query().await {
                Ok(query) => query,
                Err(error) => {
                    self.source.wait_to_reconnect(Some(error)).await?;
                    continue;
                }
            };
            let mut changes = Vec::new();
            let read = self.source.read(&format!("/api/v1/stream/execs{query}")).await;
            if self.source.take_silence() {
                // An agent without signs of life may have come in the place of one that has them.
                self.agent.forget_features();
            }
            for data in read? {
                if data != self.newest {
                    changes.push(read_json(OPERATION, data.as_bytes())?);
                    self.newest = data;
                }
            }
            if !changes.is_empty() {
                self.source.on_progress();
                return Ok(changes);
            }
        }
    }

    /// What is asked for, as far as the agent has it.
    async fn query(&mut self) -> Result<String> {
        let mut parameters = Vec::new();
        if self.agent.offers(Feature::ListChanges).await? {
            parameters.push("changes=true".to_owned());
        }
        let max_silence_ms = match self.max_silence_ms {
            Some(max_ms) if self.agent.offers(Feature::Heartbeat).await? => Some(max_ms),
            _ => None,
        };
        self.source.set_max_silence(max_silence_ms.map(f64::from));
        if let Some(max_ms) = max_silence_ms {
            let (min, max) = HEARTBEAT_MS;
            parameters.push(format!("heartbeat={}", (max_ms / HEARTBEATS).clamp(min, max)));
        }
        if parameters.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("?{}", parameters.join("&")))
    }
}
