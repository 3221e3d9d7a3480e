use std::{collections::HashSet, fs, io, net::IpAddr, os::fd::OwnedFd, sync::Arc};

use sandpipe_protocol::{PortInfo, PortsListResponse};

use super::{owners::socket_inode, table::Listener};
use crate::{
    execs::Registry,
    files::Files,
    sandbox::{BoxClient, Group},
    worker::{Connect, FindOwners, ListPorts, WorkerError},
};

/// The ports that commands see.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    pub(super) files: Arc<Files>,
    registry: Arc<Registry>,
    process_box: Arc<BoxClient>,
}

/// Why there is no connection to a port.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error("the connection did not arrive: {0}")]
    Lost(io::Error),
}

impl Ports {
    /// Those of the box.
    pub(crate) fn new(
        files: Arc<Files>,
        registry: Arc<Registry>,
        process_box: Arc<BoxClient>,
    ) -> Self {
        Self { files, registry, process_box }
    }

    /// Lists the sockets that listen, without the agent's own.
    ///
    /// # Errors
    /// They can't be listed.
    pub(crate) async fn list(&self) -> Result<PortsListResponse, WorkerError> {
        let (listeners, _) = self.files.workers.ask(None, ListPorts, Vec::new()).await?;
        Ok(self.describe(listeners).await)
    }

    /// Connects to a port of one of these loopback addresses, the first that takes the connection.
    ///
    /// # Errors
    /// None does.
    pub(crate) async fn connect(
        &self,
        port: u16,
        hosts: Vec<IpAddr>,
    ) -> Result<std::net::TcpStream, ConnectError> {
        let connect = Connect { port, hosts };
        let ((), descriptors) = self.files.workers.ask(None, connect, Vec::new()).await?;
        let lost = || ConnectError::Lost(io::ErrorKind::UnexpectedEof.into());
        let stream: OwnedFd = descriptors.into_iter().next().ok_or_else(lost)?;
        Ok(stream.into())
    }

    /// Finds out whose they are, as far as that can be told.
    pub(super) async fn describe(&self, mut listeners: Vec<Listener>) -> PortsListResponse {
        let own = own_sockets();
        listeners.retain(|listener| !own.contains(&listener.inode));
        self.find_other_owners(&mut listeners).await;
        let owners: Vec<_> =
            listeners.iter().filter_map(|listener| listener.owner.as_ref()).collect();
        let processes = owners.iter().map(|owner| (owner.pid, owner.started)).collect();
        let groups = self.process_box.groups_of(processes).await;
        let mut groups = groups.into_iter();
        let mut ports: Vec<_> = listeners
            .into_iter()
            .map(|Listener { address, owner, .. }| {
                // One for each owner.
                let group = owner.as_ref().and_then(|_| groups.next().flatten());
                PortInfo {
                    port: address.port(),
                    address: address.ip().to_string(),
                    pid: owner.as_ref().and_then(|owner| u32::try_from(owner.pid).ok()),
                    command: owner.map(|owner| owner.command),
                    exec: group.and_then(|group: Arc<Group>| self.registry.id_of(&group)),
                }
            })
            .collect();
        ports.sort_by(|one, other| (one.port, &one.address).cmp(&(other.port, &other.address)));
        PortsListResponse { ports }
    }

    /// Looks for the owners that are processes of other users, of those as whom execs run.
    async fn find_other_owners(&self, listeners: &mut [Listener]) {
        let mut users: HashSet<u32> = listeners
            .iter()
            .filter(|listener| listener.owner.is_none())
            .map(|listener| listener.user)
            .collect();
        if users.is_empty() {
            return;
        }
        for name in self.registry.users() {
            let Ok(Some(user)) = self.files.user(Some(&name)).await else {
                continue;
            };
            let uid = user.uid();
            if !users.remove(&uid) {
                continue;
            }
            let missing =
                |listener: &&mut Listener| listener.owner.is_none() && listener.user == uid;
            let mut missing: Vec<_> = listeners.iter_mut().filter(missing).collect();
            let inodes = missing.iter().map(|listener| listener.inode).collect();
            // Where it can't be told it is left out.
            if let Ok((owners, _)) =
                self.files.workers.ask(Some(&user), FindOwners { inodes }, Vec::new()).await
            {
                for (listener, owner) in missing.iter_mut().zip(owners) {
                    listener.owner = owner;
                }
            }
        }
    }
}

/// The sockets of the agent itself: what it listens on, also for commands behind walls.
fn own_sockets() -> HashSet<u64> {
    let descriptors = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let links = descriptors.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter_map(|link| socket_inode(&link)).collect()
}
