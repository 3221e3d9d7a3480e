//! A program that tries what `ATTEMPT` names, and fails where it is kept from that. It is a part of the agent's tests, which
//! run it behind walls, and is compiled by rustc alone to be run in images.
#![allow(unsafe_code)]

use std::{
    env,
    ffi::CString,
    fs::File,
    io::{Error, ErrorKind, Result},
    net::{TcpStream, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::FileExt,
            net::{SocketAddr, UnixStream},
        },
    },
};

// The C library's: rustc alone has no crates.
unsafe extern "C" {
    fn socket(domain: i32, kind: i32, protocol: i32) -> i32;
    fn syscall(number: i64, ...) -> i64;
    fn ioctl(descriptor: i32, request: u64, ...) -> i32;
    fn fork() -> i32;
    fn setsid() -> i32;
    fn _exit(code: i32) -> !;
    fn setxattr(path: *const i8, name: *const i8, value: *const u32, size: usize, f: i32) -> i32;
}

const AF_INET: i32 = 2;
const AF_VSOCK: i32 = 40;
const SOCK_STREAM: i32 = 1;
const SOCK_RAW: i32 = 3;
const IPPROTO_ICMP: i32 = 1;
const SYS_IO_URING_SETUP: i64 = 425;
const SYS_CLONE3: i64 = 435;
const SYS_OPENAT2: i64 = 437;
const AT_FDCWD: i64 = -100;
const O_WRONLY: u64 = 0o1;
const O_CREAT: u64 = 0o100;
const SIGCHLD: u64 = 17;
/// `file_getattr`, since Linux 6.17: later than what the filter knows.
const SYS_FILE_GETATTR: i64 = 468;
const ENOSYS: i32 = 38;
const CLONE_NEWUSER: u64 = 0x1000_0000;
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
    let file = || -> Result<CString> {
        let name = env::var("FILE").map_err(|_| Error::from(ErrorKind::InvalidInput))?;
        Ok(CString::new(name)?)
    };
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
        "clone3" => {
            // clone(2), `struct clone_args`: the flags, and the signal at the end.
            let arguments = [CLONE_NEWUSER, 0, 0, 0, SIGCHLD, 0, 0, 0];
            // SAFETY: without a stack the child has a copy of this one, and does nothing but end.
            let pid = unsafe { syscall(SYS_CLONE3, arguments.as_ptr(), size_of_val(&arguments)) };
            if pid == 0 {
                // SAFETY: it touches no memory.
                unsafe { _exit(0) }
            }
            call(pid)
        }
        "openat2" => {
            let file = file()?;
            // openat2(2), `struct open_how`: the flags, the mode, and how the path is resolved.
            let how = [O_WRONLY | O_CREAT, 0o4755, 0];
            let (file, how) = (file.as_ptr(), how.as_ptr());
            // SAFETY: the text has its end, and the size is that of the structure.
            call(unsafe { syscall(SYS_OPENAT2, AT_FDCWD, file, how, size_of::<[u64; 3]>()) })
        }
        "capability" => {
            let file = file()?;
            // capability.h, `struct vfs_cap_data`: the version and that they are in effect, and CAP_DAC_OVERRIDE.
            let value = [0x0200_0001_u32, 1 << 1, 0, 0, 0].map(u32::to_le);
            let (file, name) = (file.as_ptr().cast(), c"security.capability".as_ptr().cast());
            // SAFETY: both texts have their end, and the size is that of the value.
            call(unsafe { setxattr(file, name, value.as_ptr(), size_of_val(&value), 0) }.into())
        }
        "later" => {
            // SAFETY: it takes no memory where the size is zero.
            let outcome = unsafe { syscall(SYS_FILE_GETATTR, -1, 0, 0, 0, 0) };
            call(outcome).or_else(|error| match error.raw_os_error() {
                Some(ENOSYS) => Err(error),
                _ => Ok(()),
            })
        }
        // SAFETY: the kernel reads one byte.
        "tiocsti" => call(unsafe { ioctl(0, TIOCSTI, b"x".as_ptr()) }.into()),
        "replace" => take_each_others_place(),
        _ => Ok(()),
    }
}

/// How many processes there are at most where nothing ends them.
const MAX_PROCESSES: u32 = 200_000;

/// Each process starts one in a session of its own, and ends. The file that `COUNT` names says how many there have been.
fn take_each_others_place() -> Result<()> {
    let name = env::var("COUNT").map_err(|_| Error::from(ErrorKind::InvalidInput))?;
    let count = File::create(name)?;
    for number in 0..MAX_PROCESSES {
        count.write_at(&number.to_le_bytes(), 0)?;
        // SAFETY: the child goes on with a copy of this thread alone, and allocates nothing.
        match unsafe { fork() } {
            // SAFETY: it takes nothing.
            0 => _ = unsafe { setsid() },
            -1 => return Err(Error::last_os_error()),
            // SAFETY: it touches no memory.
            _ => unsafe { _exit(0) },
        }
    }
    Ok(())
}
