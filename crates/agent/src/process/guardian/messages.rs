use std::{collections::HashMap, os::fd::AsFd};

use nix::{
    errno::Errno,
    unistd::{Pid, write},
};

use crate::process::group::Scope;

/// Names a group for the guardian: unlike a process id, it is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::process) struct GroupId(u64);

impl GroupId {
    /// The id of a number that was not given out before.
    pub(in crate::process) fn new(number: u64) -> Self {
        Self(number)
    }
}

/// A message to the guardian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::process) enum Message {
    /// A process leads a group or session.
    Led(GroupId, Pid, Scope),
    /// Nobody is left of it.
    Gone(GroupId),
}

/// The length of a message. One of at most `PIPE_BUF` bytes is never mixed with another (POSIX,
/// `write`), whoever writes.
pub(super) const MESSAGE_LEN: usize = 16;

impl Message {
    /// The kind, the process id and the group's id: bytes only, since it is made between fork and exec.
    fn encode(self) -> [u8; MESSAGE_LEN] {
        let (kind, pid, group_id) = match self {
            Self::Led(group_id, pid, Scope::Group) => (1, pid.as_raw(), group_id),
            Self::Led(group_id, pid, Scope::Session) => (2, pid.as_raw(), group_id),
            Self::Gone(group_id) => (3, 0, group_id),
        };
        // A process id is positive.
        let message =
            (u128::from(group_id.0) << 64) | (u128::from(pid.unsigned_abs()) << 32) | kind;
        message.to_ne_bytes()
    }

    fn decode(bytes: [u8; MESSAGE_LEN]) -> Option<Self> {
        let message = u128::from_ne_bytes(bytes);
        let part = |shift: u32| u32::try_from((message >> shift) & 0xFFFF_FFFF).ok();
        let group_id = GroupId(u64::try_from(message >> 64).ok()?);
        let pid = Pid::from_raw(i32::try_from(part(32)?).ok().filter(|pid| *pid >= 0)?);
        match part(0)? {
            1 => Some(Self::Led(group_id, pid, Scope::Group)),
            2 => Some(Self::Led(group_id, pid, Scope::Session)),
            3 => Some(Self::Gone(group_id)),
            _ => None,
        }
    }
}

/// Sends a message to the guardian. It is async-signal-safe: only a system call.
///
/// # Errors
/// `EPIPE` where the guardian is dead.
pub(in crate::process) fn report(pipe: impl AsFd, message: Message) -> Result<(), Errno> {
    let bytes = message.encode();
    loop {
        match write(&pipe, &bytes) {
            Ok(_) => return Ok(()),
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
    }
}

/// The process groups that live, as far as the messages say.
#[derive(Debug, Default)]
pub(super) struct GroupTable(HashMap<GroupId, (Pid, Scope)>);

impl GroupTable {
    pub(super) fn apply(&mut self, bytes: [u8; MESSAGE_LEN]) {
        match Message::decode(bytes) {
            Some(Message::Led(group_id, pid, scope)) => {
                self.0.insert(group_id, (pid, scope));
            }
            Some(Message::Gone(group_id)) => {
                self.0.remove(&group_id);
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
    fn messages_arrive_as_they_were_sent() {
        let pid = Pid::from_raw(4_194_304);
        for message in [
            Message::Led(GroupId(u64::MAX), pid, Scope::Group),
            Message::Led(GroupId(0), Pid::from_raw(1), Scope::Session),
            Message::Gone(GroupId(1 << 63)),
        ] {
            assert_eq!(Message::decode(message.encode()), Some(message));
        }
        assert_eq!(Message::decode([0; MESSAGE_LEN]), None);
        assert_eq!(Message::decode([0xFF; MESSAGE_LEN]), None);
    }

    #[test]
    fn a_number_that_is_used_again_belongs_to_the_new_group() {
        let (old, new) = (GroupId(1), GroupId(2));
        let pid = Pid::from_raw(7);
        let mut groups = GroupTable::default();
        groups.apply(Message::Led(old, pid, Scope::Group).encode());
        groups.apply(Message::Led(new, pid, Scope::Session).encode());
        // The agent may say late that the old one is gone.
        groups.apply(Message::Gone(old).encode());
        assert_eq!(groups.groups().collect::<Vec<_>>(), [(pid, Scope::Session)]);
    }
}
