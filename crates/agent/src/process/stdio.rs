use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl, open},
    pty::{grantpt, posix_openpt, ptsname_r, unlockpt},
    sys::{stat::Mode, termios},
    unistd::{fchown, pipe2, write},
};
use rustix::termios::{Winsize, tcsetwinsize};
use sandpipe_protocol::TerminalSize;

use super::{launch::Launch, source::Source, user::may_switch};

/// Both ends of a process's standard streams. All descriptors close on exec: another command that
/// starts at the same moment must not inherit them.
pub(super) struct Streams {
    /// The process's ends: stdin, stdout, stderr.
    pub(super) theirs: [OwnedFd; 3],
    /// What the agent reads.
    pub(super) sources: Vec<(Source, OwnedFd)>,
    /// Where the agent writes, while standard input is open.
    pub(super) input: Option<OwnedFd>,
    pub(super) terminal: Option<PtyMaster>,
}

/// The agent's end of a process's pseudo-terminal.
#[derive(Clone, Debug)]
pub(crate) struct PtyMaster(Arc<OwnedFd>);

impl PtyMaster {
    /// Sets the size, which the system tells the foreground process group by SIGWINCH.
    pub(crate) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        set_size(self.0.as_fd(), size)
    }
}

impl Streams {
    pub(super) fn open(launch: &Launch, size: TerminalSize) -> io::Result<Self> {
        if launch.pty { Self::open_terminal(launch, size) } else { Self::open_pipes(launch) }
    }

    fn open_pipes(launch: &Launch) -> io::Result<Self> {
        let (stdout, their_stdout) = pipe2(OFlag::O_CLOEXEC)?;
        let (stderr, their_stderr) = pipe2(OFlag::O_CLOEXEC)?;
        set_nonblocking(&stdout)?;
        set_nonblocking(&stderr)?;
        for their_end in [&their_stdout, &their_stderr] {
            give(their_end, launch)?;
        }
        let (their_stdin, input) = if launch.interactive {
            let (their_stdin, input) = pipe2(OFlag::O_CLOEXEC)?;
            set_nonblocking(&input)?;
            give(&their_stdin, launch)?;
            (their_stdin, Some(input))
        } else {
            (open("/dev/null", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?, None)
        };
        Ok(Self {
            theirs: [their_stdin, their_stdout, their_stderr],
            sources: vec![(Source::Stdout, stdout), (Source::Stderr, stderr)],
            input,
            terminal: None,
        })
    }

    fn open_terminal(launch: &Launch, size: TerminalSize) -> io::Result<Self> {
        let master =
            posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let path = ptsname_r(&master)?;
        let slave =
            open(path.as_str(), OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC, Mode::empty())?;
        let master = OwnedFd::from(master);
        // Programs expect it: without, an erase would cut a character in two.
        let mut settings = termios::tcgetattr(&slave)?;
        settings.input_flags |= termios::InputFlags::IUTF8;
        termios::tcsetattr(&slave, termios::SetArg::TCSANOW, &settings)?;
        set_size(slave.as_fd(), size)?;
        give(&slave, launch)?;
        let input = if launch.interactive {
            Some(master.try_clone()?)
        } else {
            // VEOF (POSIX, General Terminal Interface, 11.1.9): the first canonical read gets
            // end-of-file.
            write(&master, b"\x04")?;
            None
        };
        Ok(Self {
            theirs: [slave.try_clone()?, slave.try_clone()?, slave],
            input,
            terminal: Some(PtyMaster(Arc::new(master.try_clone()?))),
            sources: vec![(Source::Terminal, master)],
        })
    }
}

/// Gives a pipe or a terminal to the user that the command runs as: else it could not open its own
/// streams by name, as with `/dev/stderr`.
fn give(fd: &OwnedFd, launch: &Launch) -> io::Result<()> {
    if let Some(identity) = launch.identity.as_ref().filter(|_| may_switch()) {
        fchown(fd, Some(identity.uid), None)?;
    }
    Ok(())
}

/// Only for an end that the process does not share: the flag belongs to the open file, and a
/// process does not expect it on its own streams.
fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    fcntl(fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(())
}

fn set_size(terminal: BorrowedFd<'_>, size: TerminalSize) -> io::Result<()> {
    let size = Winsize { ws_col: size.cols, ws_row: size.rows, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(tcsetwinsize(terminal, size)?)
}
