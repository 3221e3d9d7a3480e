//! The ports that are listened on.

use sandpipe_protocol::PortsListResponse;

use crate::http::Request;
use crate::{Agent, Call, Feature, Operation, Result};

/// The TCP ports that are listened on, by port, then by address.
pub fn list(agent: &Agent) -> Call<PortsListResponse> {
    let agent = agent.clone();
    Box::pin(async move {
        check_ports(&agent).await?;
        let request = Request::get(Operation::ListPorts, "/api/v1/ports".to_owned());
        agent.http.ask(request).await
    })
}

/// Says whether the agent has ports.
pub(super) async fn check_ports(agent: &Agent) -> Result<()> {
    agent.check_offers(Feature::Ports, "`ports`").await
}
