use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
};

use nix::{
    fcntl::{FcntlArg, OFlag, fcntl, open},
    sys::stat::Mode,
    unistd::{fchown, pipe2},
};
use rustix::termios::{Winsize, tcsetwinsize};
use sandpipe_protocol::TerminalSize;

use super::{launch::Launch, source::Source, user::may_switch};

/// The agent's ends of a process's standard streams. All descriptors close on exec.
pub(super) struct Streams {
    /// What the agent reads, non-blocking.
    pub(super) sources: Vec<(Source, OwnedFd)>,
    /// Where the agent writes, while standard input is open; non-blocking.
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
    /// Pipes; also the process's ends of them, which are its stdin, stdout and stderr.
    pub(super) fn open_pipes(launch: &Launch) -> io::Result<(Self, Vec<OwnedFd>)> {
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
        let sources = vec![(Source::Stdout, stdout), (Source::Stderr, stderr)];
        let theirs = vec![their_stdin, their_stdout, their_stderr];
        Ok((Self { sources, input, terminal: None }, theirs))
    }

    /// Those of a terminal, which the box has opened.
    pub(super) fn of_terminal(master: OwnedFd, launch: &Launch) -> io::Result<Self> {
        Ok(Self {
            input: launch.interactive.then(|| master.try_clone()).transpose()?,
            terminal: Some(PtyMaster(Arc::new(master.try_clone()?))),
            sources: vec![(Source::Terminal, master)],
        })
    }
}

/// Gives a pipe to the user that the command runs as: else it could not open its own
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
