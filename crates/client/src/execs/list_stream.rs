//! The list of all execs as it changes.

use futures_util::future::LocalBoxFuture;

use super::ListEvent;
use crate::http::{EventSource, read_json};
use crate::{AbortSignal, Agent, Feature, Operation, Result};

const OPERATION: Operation = Operation::StreamList;

/// Reads the list, over as many connections as it takes: each begins with the list as it is. What comes after it
/// is the list again, or with the extension `list-changes` what has changed.
pub struct ListStream {
    agent: Agent,
    source: EventSource,
    /// The newest event, as it came: the list that a new connection begins with may be the same.
    newest: String,
}

impl ListStream {
    /// A stream of the list. It connects with the first read.
    pub fn new(agent: Agent) -> Self {
        let source = EventSource::new(agent.http.clone(), OPERATION);
        Self { agent, source, newest: String::new() }
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
            let changes = match self.agent.offers(Feature::ListChanges).await {
                Ok(changes) => changes,
                Err(error) => {
                    self.source.wait_to_reconnect(Some(error)).await?;
                    continue;
                }
            };
            let query = if changes { "?changes=true" } else { "" };
            let mut changes = Vec::new();
            for data in self.source.read(&format!("/api/v1/stream/execs{query}")).await? {
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
}
