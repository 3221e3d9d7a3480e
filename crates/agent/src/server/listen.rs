use std::{
    fs::{self, Permissions},
    future, io,
    net::SocketAddr,
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::PermissionsExt,
    },
    path::Path,
};

use nix::{
    errno::Errno,
    libc,
    sys::socket::{Shutdown, shutdown},
};
use tokio::{
    net::{TcpListener, TcpSocket, UnixListener, UnixStream},
    sync::mpsc,
};

use super::stream::Stream;

/// Source of the connections of clients.
#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
    /// The connections of a [`Carrier`](super::Carrier).
    Stdio(mpsc::Receiver<UnixStream>),
}

impl Listener {
    /// The next connection. It waits a second where there is no descriptor left for one more.
    pub(super) async fn accept(&mut self) -> Stream {
        // Their own `accept` would return the error.
        match self {
            Self::Tcp(listener) => Stream::Tcp(axum::serve::Listener::accept(listener).await.0),
            Self::Unix(listener) => Stream::Unix(axum::serve::Listener::accept(listener).await.0),
            Self::Stdio(connections) => match connections.recv().await {
                Some(connection) => Stream::Unix(connection),
                None => future::pending().await,
            },
        }
    }

    /// Takes no more connections. A child whose program is still being executed has the socket too: it
    /// would go on taking connections that nobody serves.
    pub(super) fn close(&mut self) -> nix::Result<()> {
        match self {
            Self::Tcp(listener) => shutdown(listener.as_raw_fd(), Shutdown::Both),
            Self::Unix(listener) => shutdown(listener.as_raw_fd(), Shutdown::Both),
            Self::Stdio(connections) => {
                connections.close();
                Ok(())
            }
        }
    }
}

/// How many connections the system keeps until they are accepted; it may keep fewer (`somaxconn`). One that finds
/// no room is tried again by its client's system after seconds, and refused after some tries.
const BACKLOG: u32 = 4096;

/// How many seconds the system keeps a connection on which nothing comes.
const DEFER: libc::c_int = 1;

/// Listens there. The system hands over a connection when something has come on it: one that says nothing
/// takes no place for a while, and one that has sent its request has it read at once.
///
/// # Errors
/// Where the address can't be listened on.
pub(crate) fn listen(address: SocketAddr) -> io::Result<Listener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // So that an agent may be started again where connections of the one before are still closing.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    let listener = socket.listen(BACKLOG)?;
    if let Err(errno) = defer(&listener) {
        // It is the same, but for a client that sends late.
        tracing::debug!(%errno, "connections are handed over at once");
    }
    Ok(Listener::Tcp(listener))
}

/// Listens on a Unix domain socket, which is made at this path.
///
/// # Errors
/// Where there is something already, or nothing can be made.
pub(crate) fn listen_at_path(path: &Path) -> io::Result<Listener> {
    let listener = UnixListener::bind(path)?;
    // To connect is to write (unix(7)): who may do so is for the folder to say, and then for the token.
    fs::set_permissions(path, Permissions::from_mode(0o666))?;
    Ok(Listener::Unix(listener))
}

/// Sets `TCP_DEFER_ACCEPT` (tcp(7)), which nix has not.
fn defer(listener: impl AsFd) -> nix::Result<()> {
    let descriptor = listener.as_fd().as_raw_fd();
    let seconds = DEFER;
    let length = libc::socklen_t::try_from(size_of_val(&seconds)).map_err(|_| Errno::EINVAL)?;
    // SAFETY: the option is an int, and the system reads one that stays where it is.
    #[allow(unsafe_code)]
    let set = unsafe {
        libc::setsockopt(
            descriptor,
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            length,
        )
    };
    Errno::result(set).map(drop)
}
