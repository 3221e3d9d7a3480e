//! What requests are for.

use std::fmt;

/// What a request is for, in the words of an error message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What it is and can do.
    AskHealth,
    /// A new exec.
    CreateExec,
    /// The start of an exec that has only been created.
    StartExec,
    /// What has become of one exec.
    GetExec,
    /// All execs.
    ListExecs,
    /// The end of an exec, and of its output.
    DeleteExec,
    /// Input for an exec, or the size of its terminal.
    SendStdin,
    /// A signal for the process group of an exec.
    SignalExec,
    /// The output of an exec up to now.
    GetOutput,
    /// The output of an exec as it comes.
    StreamOutput,
    /// The list of all execs as it changes.
    StreamList,
}

impl Operation {
    /// Its name, as messages have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::AskHealth => "ask for the agent's features",
            Self::CreateExec => "create exec",
            Self::StartExec => "start exec",
            Self::GetExec => "get exec",
            Self::ListExecs => "list execs",
            Self::DeleteExec => "delete exec",
            Self::SendStdin => "send stdin",
            Self::SignalExec => "signal exec",
            Self::GetOutput => "get output",
            Self::StreamOutput => "stream output",
            Self::StreamList => "stream list",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
