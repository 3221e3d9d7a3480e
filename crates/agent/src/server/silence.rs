use std::{
    mem,
    os::fd::{AsFd, AsRawFd},
    ptr,
    time::Duration,
};

use nix::libc;

/// How long ago the system last heard the client's: it acknowledges what it gets, also where the client takes nothing
/// (tcp(7), `TCP_INFO`). Of a Unix domain socket the system knows itself whether the client is there: zero.
pub(super) fn silence(socket: impl AsFd) -> Duration {
    // SAFETY: all of it are numbers.
    #[allow(unsafe_code)]
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let Ok(mut length) = libc::socklen_t::try_from(size_of_val(&info)) else {
        return Duration::ZERO;
    };
    // SAFETY: the system writes no more than `length` bytes.
    #[allow(unsafe_code)]
    let _status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            ptr::from_mut(&mut info).cast(),
            &raw mut length,
        )
    };
    Duration::from_millis(info.tcpi_last_ack_recv.into())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{ErrorKind, Write},
        net::{TcpListener, TcpStream},
        os::unix::net::UnixStream,
        thread,
    };

    use super::*;
    use crate::needs::needs;

    /// A socket that takes no more, and its client, which reads nothing.
    fn stalled() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let would_block = |result: std::io::Result<usize>| {
            result.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
        };
        while !would_block((&socket).write(&[0; 8192])) {}
        (socket, client)
    }

    /// Has the client's system take nothing that comes for it, as if its machine were gone. False where this user may not.
    fn go_away(client: &TcpStream) -> bool {
        // Of each packet, so many bytes are kept (BPF, as in socket(7) `SO_ATTACH_FILTER`).
        let mut keep_none = libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 };
        let program = libc::sock_fprog { len: 1, filter: &raw mut keep_none };
        // SAFETY: the program is one of so many instructions, and lives as long as the call takes.
        #[allow(unsafe_code)]
        let attached = unsafe {
            libc::setsockopt(
                client.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program).try_into().unwrap(),
            )
        };
        let error = std::io::Error::last_os_error();
        assert!(attached == 0 || error.kind() == ErrorKind::PermissionDenied, "{error}");
        attached == 0
    }

    /// Tests beside this one have the processor meanwhile.
    const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

    #[test]
    fn a_client_that_reads_nothing_is_heard_and_one_that_is_gone_is_not() {
        let (socket, _client) = stalled();
        let mut last = silence(&socket);
        loop {
            let now = silence(&socket);
            // It answered a probe.
            if now < last {
                break;
            }
            last = now;
            thread::sleep(BETWEEN_LOOKS);
        }
        let (socket, client) = stalled();
        if !needs(go_away(&client), "root, to filter packets on this machine") {
            return;
        }
        // It may still acknowledge what came before.
        let late = Duration::from_secs(1);
        let mut last = silence(&socket);
        // Several probes.
        while last < late * 4 {
            let now = silence(&socket);
            assert!(now >= last || last < late, "it was heard after {last:?}");
            last = now;
            thread::sleep(BETWEEN_LOOKS);
        }
    }

    #[test]
    fn a_client_on_this_machine_is_there() {
        let (socket, _client) = UnixStream::pair().unwrap();
        assert_eq!(silence(&socket), Duration::ZERO);
    }
}
