//! A program that tries what `ATTEMPT` names, and fails where it is kept from that. It is a part of the agent's tests, which
//! run it behind walls, and is compiled by rustc alone to be run in images.
#![allow(unsafe_code)]

use std::{
    env,
    io::{Error, ErrorKind, Result},
    net::{TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixStream},
    },
};

// The C library's: rustc alone has no crates.
unsafe extern "C" {
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn ioctl(descriptor: i32, request: u64, ...) -> i32;
}

const AF_INET: i32 = 2;
const AF_VSOCK: i32 = 40;
const SOCK_STREAM: i32 = 1;
const SOCK_RAW: i32 = 3;
const IPPROTO_ICMP: i32 = 1;
const SYS_IO_URING_SETUP: i64 = 425;
const TIOCSTI: u64 = 0x5412;

#[allow(dead_code)] // In the agent's tests it is another that calls it.
fn main() -> Result<()> {
    attempt()
}

pub(crate) fn attempt() -> Result<()> {
    let port = |name: &str| -> Result<u16> {
        let text = env::var(name).map_err(|_| Error::from(ErrorKind::InvalidInput))?;
        text.parse().map_err(|_| ErrorKind::InvalidInput.into())
    };
    let call = |outcome: i64| if outcome < 0 { Err(Error::last_os_error()) } else { Ok(()) };
    match env::var("ATTEMPT").unwrap_or_default().as_str() {
        "tcp" => TcpStream::connect(("127.0.0.1", port("TCP_PORT")?)).map(drop),
        "agent" => TcpStream::connect(("127.0.0.1", port("AGENT_PORT")?)).map(drop),
        "udp" => {
            let own = UdpSocket::bind("127.0.0.1:0")?;
            own.send_to(b"attempt", ("127.0.0.1", port("UDP_PORT")?)).map(drop)
        }
        "abstract" => {
            let name = format!("sandpipe-attempt-{}", port("TCP_PORT")?);
            UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?).map(drop)
        }
        // SAFETY: it takes numbers.
        "raw" => call(unsafe { socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) }.into()),
        // SAFETY: it takes numbers.
        "vsock" => call(unsafe { socket(AF_VSOCK, SOCK_STREAM, 0) }.into()),
        "io_uring" => {
            let mut parameters = [0_u64; 15];
            // SAFETY: they are as large as the kernel's (io_uring_setup(2)).
            call(unsafe { syscall(SYS_IO_URING_SETUP, 1, parameters.as_mut_ptr()) })
        }
        // SAFETY: the kernel reads one byte.
        "tiocsti" => call(unsafe { ioctl(0, TIOCSTI, b"x".as_ptr()) }.into()),
        _ => Ok(()),
    }
}
