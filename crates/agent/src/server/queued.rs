use std::os::fd::AsFd;

use nix::libc::{TIOCOUTQ, c_int};
use rustix::ioctl::{Getter, Opcode, ioctl};

/// How many bytes the system holds that the client's system has not acknowledged (tcp(7), SIOCOUTQ, which
/// has the number of TIOCOUTQ).
pub(super) fn queued(socket: impl AsFd) -> usize {
    // SAFETY: the operation writes one int for a socket, and a type is named of that size.
    // The operation's number has 32 bits on every system.
    #[allow(unsafe_code, clippy::cast_possible_truncation)]
    let queued = unsafe { ioctl(socket, Getter::<{ TIOCOUTQ as Opcode }, c_int>::new()) };
    // It is always known of a socket that is connected.
    queued.ok().and_then(|queued| usize::try_from(queued).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Read, Write},
        net::{TcpListener, TcpStream},
    };

    use super::*;

    #[test]
    fn what_the_client_takes_is_seen_before_the_socket_has_room() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        assert_eq!(queued(&socket), 0);
        socket.set_nonblocking(true).unwrap();
        let full = || match (&socket).write(&[0; 8192]) {
            Ok(_) => false,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        };
        // Until the client's system has taken what it takes.
        let mut before = 0;
        while !full() || queued(&socket) != before {
            before = queued(&socket);
            std::thread::yield_now();
        }
        assert!(before > 0);
        let mut taken = vec![0; 65_536];
        while queued(&socket) == before {
            assert!(client.read(&mut taken).unwrap() > 0);
        }
        assert!(queued(&socket) < before);
    }
}
