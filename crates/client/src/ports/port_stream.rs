//! The ports that are listened on, as they change.

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::PortsListResponse;

use super::list::check_ports;
use crate::http::{EventSource, read_json};
use crate::{AbortSignal, Agent, Operation, Result};

const OPERATION: Operation = Operation::StreamPorts;

/// Reads the list of ports, over as many connections as it takes: as it is, and whenever it has changed.
pub struct PortStream {
    agent: Agent,
    source: EventSource,
    /// The newest list, as it came: the one that a new connection begins with may be the same.
    newest: String,
}

impl PortStream {
    /// A stream of the list. It connects with the first read.
    pub fn new(agent: Agent) -> Self {
        let source = EventSource::new(agent.http.clone(), OPERATION);
        Self { agent, source, newest: String::new() }
    }

    /// The list when it is another one than before. Of several that come together the last counts.
    pub fn next_list(&mut self) -> LocalBoxFuture<'_, Result<PortsListResponse>> {
        Box::pin(async move {
            check_ports(&self.agent).await?;
            loop {
                let last = self.source.read("/api/v1/stream/ports").await?.pop();
                if let Some(list) = last.filter(|list| *list != self.newest) {
                    self.source.on_progress();
                    self.newest = list;
                    return read_json(OPERATION, self.newest.as_bytes());
                }
            }
        })
    }

    /// Aborted: the reading ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }
}
