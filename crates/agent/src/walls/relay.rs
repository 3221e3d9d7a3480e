//! The way out of walls for those hosts that a policy names: commands connect to a listener on their own loopback, the agent accepts and
//! connects them.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use sandpipe_policy::{
    machine::has_address,
    network::{
        Host, HostRule, check_address, check_name,
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

/// Relays until the box has ended, and with it all connections.
pub(super) async fn serve(
    listener: TcpListener,
    hosts: Arc<[HostRule]>,
    mut ended: oneshot::Receiver<()>,
) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let refusals = Arc::new(Mutex::new(RefusalLog::default()));
    loop {
        let accept = async {
            let permit = Arc::clone(&room).acquire_owned().await;
            (listener.accept().await, permit)
        };
        let (accepted, permit) = tokio::select! {
            _ended = &mut ended => return,
            Some(_) = connections.join_next() => continue,
            accepted = accept => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let (hosts, refusals) = (Arc::clone(&hosts), Arc::clone(&refusals));
                connections.spawn(async move {
                    let _permit = permit;
                    if let Err(error) = relay(stream, &hosts, &refusals).await {
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

async fn relay(
    mut stream: TcpStream,
    hosts: &[HostRule],
    refusals: &Mutex<RefusalLog>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let handshake = timeout(HANDSHAKE_TIMEOUT, read_request(&mut stream)).await;
    let Some(request) = handshake.map_err(io::Error::other)?? else {
        return Ok(());
    };
    let mut target = match connect(&request, hosts).await {
        Ok(target) => target,
        Err(NotConnected::Refused(reason)) => {
            let logged =
                refusals.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now());
            if let Some(left_out) = logged {
                let left_out = (left_out > 0).then_some(left_out);
                tracing::warn!(left_out, "a connection was refused by the policy: {reason}");
            }
            return stream.write_all(&request.answer(Outcome::Refused(&reason))).await;
        }
        Err(NotConnected::Failed(error)) => {
            let reason = format!("{}: {error}", request.destination);
            return stream.write_all(&request.answer(Outcome::Failed(&reason))).await;
        }
    };
    target.set_nodelay(true)?;
    stream.write_all(&request.answer(Outcome::Connected)).await?;
    target.write_all(&request.first).await?;
    copy_bidirectional(&mut stream, &mut target).await?;
    Ok(())
}

/// What a program asks for; None where it is told that it can't.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut handshake = Handshake::default();
    let mut buffer = [0; BUFFER];
    loop {
        match handshake.advance() {
            Next::Connect(request) => return Ok(Some(request)),
            Next::Reply(reply) => stream.write_all(&reply).await?,
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
async fn connect(request: &Request, hosts: &[HostRule]) -> Result<TcpStream, NotConnected> {
    let destination = &request.destination;
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
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => outcome = NotConnected::Failed(error),
            Err(_) => outcome = NotConnected::Failed(io::ErrorKind::TimedOut.into()),
        }
    }
    Err(outcome)
}
