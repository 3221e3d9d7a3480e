//! Way out of a sandbox for those hosts that a policy names: commands connect to a listener on
//! their own loopback, the agent accepts and connects them. One is a proxy, the others lead to one
//! host each.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sandpipe_policy::{
    machine::has_address,
    network::{
        Destination, Host, HostRule, check_address, check_name,
        proxy::{Handshake, Next, Outcome, Request},
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::{Semaphore, oneshot},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{lookup::look_up, refusal_log::RefusalLog};

/// How many connections there may be at once; others wait.
const MAX_CONNECTIONS: usize = 256;
/// How long a program may take to say what it wants to reach.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a name may take to be looked up, and each of its addresses to be connected.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// Before the next try where no connection can be accepted, as without a descriptor.
const PAUSE: Duration = Duration::from_millis(200);
const BUFFER: usize = 4096;

/// Socket on which commands connect: to the proxy, or to one destination.
#[derive(Debug)]
pub(super) struct Entrance {
    pub(super) listener: std::net::TcpListener,
    /// None for the proxy, which is told the destination.
    pub(super) destination: Option<Destination>,
}

/// State that all connections of a sandbox share.
struct Relay {
    hosts: Vec<HostRule>,
    room: Arc<Semaphore>,
    refusals: Mutex<RefusalLog>,
}

/// Relays until the box has ended, and with it all connections. It needs a runtime.
///
/// # Errors
/// A listener can't be waited for.
pub(super) fn begin(
    entrances: Vec<Entrance>,
    hosts: Vec<HostRule>,
    ended: oneshot::Receiver<()>,
) -> io::Result<()> {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let relay = Arc::new(Relay { hosts, room, refusals: Mutex::default() });
    let mut accepting = JoinSet::new();
    for Entrance { listener, destination } in entrances {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        accepting.spawn(accept(listener, destination, Arc::clone(&relay)));
    }
    tokio::spawn(async move {
        let _ended = ended.await;
        drop(accepting);
    });
    Ok(())
}

async fn accept(listener: TcpListener, destination: Option<Destination>, relay: Arc<Relay>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                // While there is no room, one connection waits here, and the others in the kernel.
                let permit = Arc::clone(&relay.room).acquire_owned().await;
                let (relay, destination) = (Arc::clone(&relay), destination.clone());
                connections.spawn(async move {
                    let _permit = permit;
                    let relayed = match destination {
                        Some(destination) => relay.forward(stream, &destination).await,
                        None => relay.proxy(stream).await,
                    };
                    if let Err(error) = relayed {
                        tracing::debug!(%error, "a relayed connection was cut");
                    }
                });
            }
            Err(error) => {
                tracing::debug!(%error, "no relayed connection can be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

impl Relay {
    /// Connects a program to what it asks the proxy for.
    async fn proxy(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let handshake = timeout(HANDSHAKE_TIMEOUT, read_request(&mut stream)).await;
        let Some(request) = handshake.map_err(io::Error::other)?? else {
            return Ok(());
        };
        let mut target = match self.connect(&request.destination).await {
            Ok(target) => target,
            Err(NotConnected::Refused(reason)) => {
                return stream.write_all(&request.answer(Outcome::Refused(&reason))).await;
            }
            Err(NotConnected::Failed(error)) => {
                let reason = format!("{}: {error}", request.destination);
                return stream.write_all(&request.answer(Outcome::Failed(&reason))).await;
            }
        };
        stream.write_all(&request.answer(Outcome::Connected)).await?;
        target.write_all(&request.first).await?;
        copy_bidirectional(&mut stream, &mut target).await?;
        Ok(())
    }

    /// Connects a program that knows no proxy. It gets a reset where that fails.
    async fn forward(&self, mut stream: TcpStream, destination: &Destination) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let Ok(mut target) = self.connect(destination).await else {
            return stream.set_zero_linger();
        };
        copy_bidirectional(&mut stream, &mut target).await?;
        Ok(())
    }

    /// Connects to a destination as the policy lets, and logs a refusal.
    async fn connect(&self, destination: &Destination) -> Result<TcpStream, NotConnected> {
        let connected = connect(destination, &self.hosts).await;
        if let Err(NotConnected::Refused(reason)) = &connected {
            let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(left_out) = refusals.take(destination.to_string(), Instant::now()) {
                let left_out = (left_out > 0).then_some(left_out);
                tracing::warn!(left_out, "a connection was refused by the policy: {reason}");
            }
        }
        connected
    }
}

/// What a program asks for; None where it is told that it can't.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut handshake = Handshake::default();
    let mut buffer = [0; BUFFER];
    loop {
        match handshake.next() {
            Next::Connect(request) => return Ok(Some(request)),
            Next::Close(answer) => {
                stream.write_all(&answer).await?;
                return Ok(None);
            }
            Next::Read => {
                let count = stream.read(&mut buffer).await?;
                if count == 0 {
                    return Ok(None);
                }
                handshake.feed(buffer.get(..count).unwrap_or_default());
            }
        }
    }
}

enum NotConnected {
    Refused(String),
    Failed(io::Error),
}

/// Checks the name, looks it up, checks each address, and connects to one of those that were checked: it isn't looked up again.
async fn connect(destination: &Destination, hosts: &[HostRule]) -> Result<TcpStream, NotConnected> {
    check_name(hosts, destination).map_err(|refusal| NotConnected::Refused(refusal.to_string()))?;
    let addresses = match &destination.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => timeout(CONNECT_TIMEOUT, look_up(name.clone()))
            .await
            .map_err(|_| NotConnected::Failed(io::ErrorKind::TimedOut.into()))?
            .map_err(NotConnected::Failed)?,
    };
    let mut outcome = NotConnected::Failed(io::Error::other("the name has no address"));
    for address in addresses {
        if let Err(refusal) = check_address(hosts, destination, address, has_address(address)) {
            outcome = NotConnected::Refused(refusal.to_string());
            continue;
        }
        let address = SocketAddr::new(address, destination.port);
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true).map_err(NotConnected::Failed)?;
                return Ok(stream);
            }
            Ok(Err(error)) => outcome = NotConnected::Failed(error),
            Err(_) => outcome = NotConnected::Failed(io::ErrorKind::TimedOut.into()),
        }
    }
    Err(outcome)
}
