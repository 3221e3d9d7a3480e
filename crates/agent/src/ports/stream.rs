use sandpipe_protocol::PortsListResponse;

use super::{list::Ports, table::Listener};
use crate::worker::{Conversation, WatchPorts, WorkerError};

/// The ports that are listened on, now and whenever they have changed, until this is dropped.
#[derive(Debug)]
pub(crate) struct PortsStream {
    ports: Ports,
    conversation: Conversation,
    /// What has been told, so that nothing is told twice.
    told: Option<PortsListResponse>,
    /// What was received, until it is described.
    received: Option<Vec<Listener>>,
}

impl Ports {
    /// Lists them now and whenever they have changed.
    ///
    /// # Errors
    /// They can't be listed.
    pub(crate) async fn stream(&self) -> Result<PortsStream, WorkerError> {
        let conversation = self.files.workers.open(None, WatchPorts, Vec::new()).await?;
        Ok(PortsStream { ports: self.clone(), conversation, told: None, received: None })
    }
}

impl PortsStream {
    /// The next list. Nothing is lost where the future is dropped.
    ///
    /// # Errors
    /// They can't be listed any more.
    pub(crate) async fn next(&mut self) -> Result<PortsListResponse, WorkerError> {
        loop {
            if self.received.is_none() {
                self.received = Some(self.conversation.answer().await?);
            }
            let listeners = self.received.clone().unwrap_or_default();
            let list = self.ports.describe(listeners).await;
            self.received = None;
            if self.told.as_ref() != Some(&list) {
                self.told = Some(list.clone());
                return Ok(list);
            }
        }
    }
}
