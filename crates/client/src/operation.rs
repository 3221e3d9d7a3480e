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
    ReadFile,
    WriteFile,
    StatFile,
    ListDirectory,
    MakeDirectory,
    RemoveFile,
    MoveFile,
    CopyFile,
    ReadTree,
    WriteTree,
    WatchDirectory,
    ListPorts,
    StreamPorts,
    CreateToken,
    ListTokens,
    RevokeToken,
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
            Self::ReadFile => "read file",
            Self::WriteFile => "write file",
            Self::StatFile => "stat file",
            Self::ListDirectory => "list directory",
            Self::MakeDirectory => "make directory",
            Self::RemoveFile => "remove file",
            Self::MoveFile => "move file",
            Self::CopyFile => "copy file",
            Self::ReadTree => "read tree",
            Self::WriteTree => "write tree",
            Self::WatchDirectory => "watch directory",
            Self::ListPorts => "list ports",
            Self::StreamPorts => "stream ports",
            Self::CreateToken => "create token",
            Self::ListTokens => "list tokens",
            Self::RevokeToken => "revoke token",
        }
    }

    /// Whether it is about a file or a directory: the system may refuse it, whoever asks.
    pub(crate) fn is_of_files(self) -> bool {
        matches!(
            self,
            Self::ReadFile
                | Self::WriteFile
                | Self::StatFile
                | Self::ListDirectory
                | Self::MakeDirectory
                | Self::RemoveFile
                | Self::MoveFile
                | Self::CopyFile
                | Self::ReadTree
                | Self::WriteTree
                | Self::WatchDirectory
        )
    }
}
