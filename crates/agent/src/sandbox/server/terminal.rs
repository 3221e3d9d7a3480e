use std::{io, os::fd::OwnedFd};

use nix::{
    fcntl::{OFlag, open},
    pty::{grantpt, posix_openpt, ptsname_r, unlockpt},
    sys::{stat::Mode, termios},
    unistd::{Uid, fchown, write},
};
use rustix::termios::{Winsize, tcsetwinsize};

/// Both ends of a pseudo-terminal.
#[derive(Debug)]
pub(super) struct Terminal {
    pub(super) master: OwnedFd,
    pub(super) slave: OwnedFd,
}

impl Terminal {
    /// Opens one of that size, for that user if it is another one. It is at its end from the beginning, or is not.
    pub(super) fn open(cols: u16, rows: u16, at_end: bool, user: Option<Uid>) -> io::Result<Self> {
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
        tcsetwinsize(&slave, Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 })?;
        if user.is_some() {
            // Else the command could not open its own streams by name, as with `/dev/stderr`.
            fchown(&slave, user, None)?;
        }
        if at_end {
            // VEOF (POSIX, General Terminal Interface, 11.1.9): the first canonical read gets
            // end-of-file.
            write(&master, b"\x04")?;
        }
        Ok(Self { master, slave })
    }
}
