//! How a run ends, and with it perhaps its session.

use std::fmt;

use super::session::session_ended;
use crate::{Error, ExecId};

/// How a run came to its end.
pub(super) enum RunEnd {
    /// The shell is ready for the next one.
    Ready,
    /// The shell itself ended.
    Shell(i32),
    /// It can't be followed any further.
    Lost(Box<Error>),
    /// The agent does not show it any more.
    Inaccessible { refusal: Box<Error>, script: Script },
    /// Whether a piece of the script, or what was to interrupt it, has arrived is not known: sent again,
    /// it could be carried out twice.
    InputLost(Box<Error>),
    /// Nothing of the script can have arrived.
    NotSent(Box<Error>),
    /// The script went on whatever was done, or was to stop before it had begun, and did not begin.
    Unstoppable { begun: bool },
}

/// What is known of a script in a shell that is out of sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Script {
    Began,
    Unknown,
    DidNotRun,
}

impl Script {
    pub(super) fn may_run(self) -> bool {
        self != Self::DidNotRun
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Began => "the script had begun, and may still run",
            Self::Unknown => "whether the script ran is not known",
            Self::DidNotRun => "the script did not run",
        })
    }
}

impl RunEnd {
    /// The end of a run whose script, or what was to interrupt it, could not be sent.
    pub(super) fn of_input(error: Box<Error>) -> Self {
        if error.is_closed() { Self::Lost(error) } else { Self::InputLost(error) }
    }

    /// The same, said as exactly as it is known once it is clear whether the script began, and whether
    /// a piece of it had `arrived`.
    pub(super) fn of_run(self, id: &ExecId, begun: bool, arrived: bool) -> Self {
        match self {
            Self::Shell(exit_code) if !begun => {
                let reason = format!("its shell ended with exit code {exit_code} before this run");
                Self::Lost(session_ended(id, &reason))
            }
            Self::InputLost(error) if is_refusal(&error) => Self::Inaccessible {
                refusal: error,
                script: if begun { Script::Began } else { Script::DidNotRun },
            },
            Self::InputLost(error) if error.is_never_sent() && !arrived => Self::NotSent(error),
            Self::Lost(error) => match *error {
                Error::ExitCodeMissing { cause: Some(error), .. } if is_refusal(&error) => {
                    Self::Inaccessible {
                        refusal: error,
                        script: if begun { Script::Began } else { Script::Unknown },
                    }
                }
                _ => Self::Lost(error),
            },
            end => end,
        }
    }

    /// Why the session is over, if it is.
    pub(super) fn over(&self) -> Option<String> {
        match self {
            Self::Ready | Self::NotSent(_) => None,
            Self::Shell(exit_code) => Some(format!(
                "its shell ended with exit code {exit_code} in a run before: by `exit`, `exec`, a \
                 signal, or a failure under `set -e`"
            )),
            Self::Lost(error) => Some(match &**error {
                Error::Session { reason, .. } => {
                    reason.trim_start_matches("this session is over: ").to_owned()
                }
                error => format!("its output could not be followed: {error}"),
            }),
            Self::Inaccessible { refusal, .. } => Some(why_inaccessible(refusal)),
            Self::InputLost(error) => Some(format!(
                "what was sent to its shell may not have arrived, and it was killed: {error}"
            )),
            Self::Unstoppable { begun } => {
                let reason = if *begun {
                    "a script could not be interrupted: its shell traps SIGINT, or runs nothing any \
                     more (`set -n`), and was killed"
                } else {
                    "a script was to stop before it had begun, and its shell was killed"
                };
                Some(reason.to_owned())
            }
        }
    }
}

/// Whether the agent says that it does not know the shell, as after a restart, or that it is not for
/// the caller, as with a new token. A 404 without its message is a gateway's, and may pass.
fn is_refusal(error: &Error) -> bool {
    matches!(error.status(), Some(401 | 403)) || error.status_of_agent() == Some(404)
}

/// Why a shell is out of sight.
pub(super) fn why_inaccessible(refusal: &Error) -> String {
    match refusal.status() {
        Some(404) => format!("the agent does not know its shell any more: {refusal}"),
        _ => format!("the agent does not give access to its shell: {refusal}"),
    }
}
