use std::{
    io,
    net::{IpAddr, ToSocketAddrs},
    thread,
};

use tokio::sync::oneshot;

/// The C library's resolver takes some.
const STACK: usize = 256 * 1024;

/// Looks a name up, as all programs of this machine do. On a thread of its own: a name server may be silent for long, and there
/// may be no room for one more.
///
/// # Errors
/// There is no such name, nobody who knows, or no thread.
pub(super) async fn look_up(name: String) -> io::Result<Vec<IpAddr>> {
    let (done, addresses) = oneshot::channel();
    let look_up = move || {
        let found = (name.as_str(), 0).to_socket_addrs();
        // Nobody may wait for it any more.
        let _gone = done.send(found.map(|found| found.map(|address| address.ip()).collect()));
    };
    thread::Builder::new().name("names".into()).stack_size(STACK).spawn(look_up)?;
    addresses.await.map_err(io::Error::other)?
}
