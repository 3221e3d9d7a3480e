//! The messages between the agent and its box. Each travels as its length, a `u32` in little-endian, and its bytes as postcard has them.

use std::{ffi::CString, path::PathBuf};

use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The longest message: a request has a command line and an environment, of which the system takes some MiB at most, and which
/// an agent may be asked for with as much as a body has.
const MAX_LEN: usize = 256 * 1024 * 1024;
const HEADER_LEN: usize = size_of::<u32>();
/// How much room for messages is kept while there are none.
const KEPT: usize = 64 * 1024;

/// What a command is known by: unlike a process id, it is never used again.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
pub(crate) struct ExecKey(pub(crate) u64);

/// What the agent asks of the box.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// It comes with so many descriptors as it says, of which the last one is the reply socket.
    Start(Box<StartRequest>),
    /// Asks for a [`Report::Signalled`] with the same number.
    /// The signals go to the command one after the other; 0 only asks whether a process of it is left.
    Signal { number: u64, key: ExecKey, signals: Vec<i32> },
    /// Asks for a [`Report::Found`] with the same number: to which commands these processes belong, each by its id and its start.
    Find { number: u64, processes: Vec<(i32, u64)> },
    /// When the agent is gone, this cgroup is to be removed, with all that are in it: those of the box's commands.
    RemoveAtEnd(PathBuf),
}

/// A command to start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StartRequest {
    pub(crate) key: ExecKey,
    pub(crate) program: Program,
    pub(crate) cwd: CString,
    pub(crate) stdio: Stdio,
    /// The user to become; none to stay the box's own.
    pub(crate) credentials: Option<Credentials>,
    pub(crate) file_limits: FileLimits,
    /// Whether all that it starts belongs to it, wherever that goes.
    pub(crate) contain: bool,
    /// Whether it is started in a cgroup of its own, whose directory is the descriptor before the reply socket.
    pub(crate) cgroup: bool,
}

/// What a process becomes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Program {
    Command {
        /// The program, by its path or as found in `PATH`, and its arguments.
        args: Vec<CString>,
        /// The whole environment, each entry with its name.
        env: Vec<CString>,
    },
    /// A worker (`worker/`), whose standard input is the socket to the agent. It is a copy of the box, which executes nothing.
    Worker,
}

impl StartRequest {
    /// How many descriptors come with it.
    pub(crate) fn descriptors(&self) -> usize {
        let streams = match self.stdio {
            Stdio::Pipes => 3,
            Stdio::Terminal { .. } => 0,
        };
        streams + usize::from(self.cgroup) + 1
    }
}

/// What a command's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stdio {
    /// Three descriptors that come with the request.
    Pipes,
    /// A terminal that the box opens.
    Terminal {
        cols: u16,
        rows: u16,
        /// Whether standard input is at its end from the beginning.
        at_end: bool,
    },
}

/// The numbers of a user and its groups.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Credentials {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The supplementary groups.
    pub(crate) groups: Vec<u32>,
}

/// The limits on open files that a command gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileLimits {
    pub(crate) soft: u64,
    pub(crate) hard: u64,
}

/// What the box tells the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// It takes requests. The first one. It says what the marks begin with of those commands that have no cgroup: no other box has
    /// the same.
    Ready(String),
    /// The leader of a group has ended and was reaped.
    Exited {
        key: ExecKey,
        /// That of a shell: 128 + N after death by signal N.
        code: i32,
        /// Whether a signal that stops it was sent while it was there.
        stopped: bool,
    },
    /// No process of it is left, or there has never been one. It is the last of each command.
    Gone {
        key: ExecKey,
        /// Whether it was killed.
        killed: bool,
    },
    /// Whom the first of the signals reached, or the `errno` of the first that was refused.
    Signalled { number: u64, outcome: Result<Reached, i32> },
    /// For each process that was asked for the command that it belongs to, if it is of one.
    Found { number: u64, keys: Vec<Option<ExecKey>> },
}

/// Whom a signal reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Reached {
    Members,
    /// No process is left.
    Nobody,
}

/// Whether it is one of those that are sent to stop a command.
pub(crate) fn stops(signal: Signal) -> bool {
    matches!(signal, Signal::SIGTERM | Signal::SIGKILL)
}

/// What comes over a reply socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// There is a process, of this id, which is about to execute the program. For a terminal, the master comes with it.
    Started(i32),
    Failed(Failure),
}

/// Why a command does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The system gives no process.
    Process,
    /// Something before the program is executed.
    SetUp,
    /// To go to the working directory.
    Directory,
    /// To execute the program.
    Execute,
}

/// The length of a reply.
pub(crate) const REPLY_LEN: usize = 5;

impl Reply {
    pub(crate) fn encode(self) -> [u8; REPLY_LEN] {
        let (kind, value) = match self {
            Self::Started(pid) => (0, pid),
            Self::Failed(Failure { step, errno }) => (step as u8 + 1, errno),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// `None` for what is no reply.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let [kind, value @ ..] = <[u8; REPLY_LEN]>::try_from(bytes).ok()?;
        let value = i32::from_le_bytes(value);
        let failed = |step| Some(Self::Failed(Failure { step, errno: value }));
        match kind {
            0 => Some(Self::Started(value)),
            1 => failed(Step::Process),
            2 => failed(Step::SetUp),
            3 => failed(Step::Directory),
            4 => failed(Step::Execute),
            _ => None,
        }
    }
}

/// What was read makes no sense.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProtocolError {
    #[error("a message of {0} bytes")]
    TooLong(usize),
    #[error("a message that can't be read: {0}")]
    Malformed(#[from] postcard::Error),
}

/// A message as it travels.
///
/// # Errors
/// It is too long.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, ProtocolError> {
    let mut bytes = postcard::to_extend(message, vec![0; HEADER_LEN])?;
    let len = bytes.len() - HEADER_LEN;
    let header = u32::try_from(len).ok().filter(|_| len <= MAX_LEN);
    let header = header.ok_or(ProtocolError::TooLong(len))?.to_le_bytes();
    for (place, byte) in bytes.iter_mut().zip(header) {
        *place = byte;
    }
    Ok(bytes)
}

/// Makes messages of bytes that come in parts.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    bytes: Vec<u8>,
    /// How many of them have been decoded.
    taken: usize,
}

impl Decoder {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, once all of it is there.
    ///
    /// # Errors
    /// It makes no sense, nor does what comes after it.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Result<Option<T>, ProtocolError> {
        let message = self.take()?.map(postcard::from_bytes).transpose()?;
        if message.is_none() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            // A large request is one of few.
            if self.bytes.capacity() > KEPT {
                self.bytes.shrink_to(KEPT);
            }
        }
        Ok(message)
    }

    /// Takes the bytes of the next message.
    fn take(&mut self) -> Result<Option<&[u8]>, ProtocolError> {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let Some((header, rest)) = rest.split_first_chunk::<HEADER_LEN>() else {
            return Ok(None);
        };
        let len = usize::try_from(u32::from_le_bytes(*header)).unwrap_or(usize::MAX);
        if len > MAX_LEN {
            return Err(ProtocolError::TooLong(len));
        }
        let message = rest.get(..len);
        if message.is_some() {
            self.taken += HEADER_LEN + len;
        }
        Ok(message)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text() -> impl Strategy<Value = CString> {
        prop::collection::vec(1_u8.., 0..40).prop_map(|bytes| CString::new(bytes).unwrap())
    }

    fn stdio() -> impl Strategy<Value = Stdio> {
        let terminal = any::<(u16, u16, bool)>().prop_map(|(cols, rows, at_end)| Stdio::Terminal {
            cols,
            rows,
            at_end,
        });
        prop_oneof![Just(Stdio::Pipes), terminal]
    }

    fn start() -> impl Strategy<Value = Request> {
        let credentials = prop::option::of(
            any::<(u32, u32, Vec<u32>)>().prop_map(|(uid, gid, groups)| Credentials {
                uid,
                gid,
                groups,
            }),
        );
        let texts = || prop::collection::vec(text(), 0..5);
        let command = (texts(), texts()).prop_map(|(args, env)| Program::Command { args, env });
        let program = prop_oneof![command, Just(Program::Worker)];
        (any::<(u64, u64, u64)>(), program, text(), stdio(), credentials).prop_map(
            |((key, soft, hard), program, cwd, stdio, credentials)| {
                Request::Start(Box::new(StartRequest {
                    key: ExecKey(key),
                    program,
                    cwd,
                    stdio,
                    credentials,
                    file_limits: FileLimits { soft, hard },
                    contain: soft > hard,
                    cgroup: soft > key,
                }))
            },
        )
    }

    fn request() -> impl Strategy<Value = Request> {
        let signal = any::<(u64, u64, Vec<i32>)>().prop_map(|(number, key, signals)| {
            Request::Signal { number, key: ExecKey(key), signals }
        });
        let find = any::<(u64, Vec<(i32, u64)>)>()
            .prop_map(|(number, processes)| Request::Find { number, processes });
        let remove = "[a-z/]{0,20}".prop_map(|path| Request::RemoveAtEnd(path.into()));
        prop_oneof![start(), signal, find, remove]
    }

    proptest! {
        #[test]
        fn messages_arrive_as_they_were_sent_in_whatever_parts(
            requests in prop::collection::vec(request(), 0..6),
            part in 1_usize..80,
        ) {
            let bytes: Vec<_> = requests.iter().flat_map(|request| encode(request).unwrap()).collect();
            let mut decoder = Decoder::default();
            let mut received = Vec::new();
            for part in bytes.chunks(part) {
                decoder.feed(part);
                while let Some(request) = decoder.next::<Request>().unwrap() {
                    received.push(request);
                }
            }
            prop_assert_eq!(received, requests);
            prop_assert!(decoder.bytes.is_empty());
        }

        #[test]
        fn replies_arrive_as_they_were_sent(value: i32) {
            let failed = |step| Reply::Failed(Failure { step, errno: value });
            for reply in [
                Reply::Started(value),
                failed(Step::Process),
                failed(Step::SetUp),
                failed(Step::Directory),
                failed(Step::Execute),
            ] {
                prop_assert_eq!(Reply::decode(&reply.encode()), Some(reply));
            }
        }
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let mut decoder = Decoder::default();
        decoder.feed(&u32::MAX.to_le_bytes());
        assert!(decoder.next::<Report>().is_err());
        let mut decoder = Decoder::default();
        decoder.feed(&[1, 0, 0, 0, 0xFF]);
        assert!(decoder.next::<Report>().is_err());
        assert_eq!(Reply::decode(&[5; REPLY_LEN]), None);
        assert_eq!(Reply::decode(&[]), None);
    }
}
