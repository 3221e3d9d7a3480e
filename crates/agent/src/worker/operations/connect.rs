use std::{
    net::{IpAddr, SocketAddr, TcpStream},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::{Failure, FailureKind},
    operation::Operation,
    peer::Peer,
};

/// How long a connection may take: within a machine only a listener that accepts nothing any more holds it up.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Connects to a port of loopback addresses in the worker's network namespace: to the first that takes it. The connection comes with the
/// answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Connect {
    pub(crate) port: u16,
    pub(crate) hosts: Vec<IpAddr>,
}

impl Operation for Connect {
    type Answer = ();

    fn run(self, peer: &mut Peer) -> Result<(), Failure> {
        let mut refused = Vec::new();
        for host in self.hosts {
            let address = SocketAddr::new(host, self.port);
            match TcpStream::connect_timeout(&address, TIMEOUT) {
                Ok(stream) => {
                    peer.attach(stream.into());
                    return Ok(());
                }
                Err(error) => refused.push(format!("{address}: {error}")),
            }
        }
        let message = format!("no connection to port {}: {}", self.port, refused.join("; "));
        Err(Failure::new(FailureKind::Unreachable, message))
    }
}
