//! Connections to a port, each over a WebSocket, which the host makes.

use crate::{Agent, Call, Error, Feature};

/// The address of a WebSocket that is one connection to a port of the sandbox: the extension `port-forward`.
pub fn forward_address(agent: &Agent, port: u16) -> Call<String> {
    const FEATURE: Feature = Feature::PortForward;
    let agent = agent.clone();
    Box::pin(async move {
        if !agent.offers(FEATURE).await? {
            let what = "a connection to a port";
            return Err(Error::Unsupported { feature: FEATURE.name(), what }.into());
        }
        // "http" is the beginning of "https", too.
        let rest = agent.http.url().strip_prefix("http").unwrap_or_default();
        Ok(format!("ws{rest}/ws/v1/ports/{port}"))
    })
}
