//! What requests are for.

/// What a request is for, in the words of an error message.
// `name` says what each is.
#[allow(missing_docs)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    AskHealth,
    CreateExec,
    StartExec,
    GetExec,
    ListExecs,
    DeleteExec,
    SendStdin,
    SignalExec,
    GetOutput,
    StreamOutput,
    StreamList,
}

impl Operation {
    /// The words for it in messages.
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
