use std::{collections::HashMap, os::fd::AsFd};

use nix::{
    errno::Errno,
    unistd::{Pid, write},
};

use crate::process::group::Scope;

/// Names a group for the guardian: unlike a process id, it is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::process) struct Ticket(u64);

impl Ticket {
    /// The ticket of a number that was not given out before.
    pub(in crate::process) fn new(number: u64) -> Self {
        Self(number)
    }
}

/// What the guardian is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum News {
    /// A process leads a group or session.
    Led(Ticket, Pid, Scope),
    /// Nobody is left of it.
    Gone(Ticket),
}

/// The length of a message. One of at most `PIPE_BUF` bytes is never mixed with another (POSIX,
/// `write`), whoever writes.
pub(super) const MESSAGE: usize = 16;

impl News {
    /// The kind, the process id and the ticket: bytes only, since it is made between fork and exec.
    fn encode(self) -> [u8; MESSAGE] {
        let (kind, pid, ticket) = match self {
            Self::Led(ticket, pid, Scope::Group) => (1, pid.as_raw(), ticket),
            Self::Led(ticket, pid, Scope::Session) => (2, pid.as_raw(), ticket),
            Self::Gone(ticket) => (3, 0, ticket),
        };
        // A process id is positive.
        let message = (u128::from(ticket.0) << 64) | (u128::from(pid.unsigned_abs()) << 32) | kind;
        message.to_ne_bytes()
    }

    fn decode(bytes: [u8; MESSAGE]) -> Option<Self> {
        let message = u128::from_ne_bytes(bytes);
        let part = |shift: u32| u32::try_from((message >> shift) & 0xFFFF_FFFF).ok();
        let ticket = Ticket(u64::try_from(message >> 64).ok()?);
        let pid = Pid::from_raw(i32::try_from(part(32)?).ok().filter(|pid| *pid >= 0)?);
        match part(0)? {
            1 => Some(Self::Led(ticket, pid, Scope::Group)),
            2 => Some(Self::Led(ticket, pid, Scope::Session)),
            3 => Some(Self::Gone(ticket)),
            _ => None,
        }
    }
}

/// Tells the guardian. It is async-signal-safe: only a system call.
///
/// # Errors
/// `EPIPE` where the guardian is dead.
pub(in crate::process) fn report(pipe: impl AsFd, news: News) -> Result<(), Errno> {
    let message = news.encode();
    loop {
        match write(&pipe, &message) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The groups that live, as far as the guardian has been told.
#[derive(Debug, Default)]
pub(super) struct Living(HashMap<Ticket, (Pid, Scope)>);

impl Living {
    pub(super) fn hear(&mut self, message: [u8; MESSAGE]) {
        match News::decode(message) {
            Some(News::Led(ticket, pid, scope)) => {
                self.0.insert(ticket, (pid, scope));
            }
            Some(News::Gone(ticket)) => {
                self.0.remove(&ticket);
            }
            None => {}
        }
    }

    pub(super) fn groups(&self) -> impl Iterator<Item = (Pid, Scope)> {
        self.0.values().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_arrive_as_they_were_sent() {
        let pid = Pid::from_raw(4_194_304);
        for news in [
            News::Led(Ticket(u64::MAX), pid, Scope::Group),
            News::Led(Ticket(0), Pid::from_raw(1), Scope::Session),
            News::Gone(Ticket(1 << 63)),
        ] {
            assert_eq!(News::decode(news.encode()), Some(news));
        }
        assert_eq!(News::decode([0; MESSAGE]), None);
        assert_eq!(News::decode([0xFF; MESSAGE]), None);
    }

    #[test]
    fn a_number_that_is_used_again_belongs_to_the_new_group() {
        let (old, new) = (Ticket(1), Ticket(2));
        let pid = Pid::from_raw(7);
        let mut living = Living::default();
        living.hear(News::Led(old, pid, Scope::Group).encode());
        living.hear(News::Led(new, pid, Scope::Session).encode());
        // The agent may say late that the old one is gone.
        living.hear(News::Gone(old).encode());
        assert_eq!(living.groups().collect::<Vec<_>>(), [(pid, Scope::Session)]);
    }
}
