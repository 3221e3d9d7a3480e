use serde::{Deserialize, Serialize};

use super::operations::{
    Append, Commit, Copy, Create, Discard, List, MakeDirectory, Move, Open, RemoveDirectory,
    RemoveFile, Stat, Watch,
};

/// The first message of a conversation: what is asked for. It travels as the messages to the box do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(Append),
    Commit(Commit),
    Copy(Copy),
    Create(Create),
    Discard(Discard),
    List(List),
    MakeDirectory(MakeDirectory),
    Move(Move),
    Open(Open),
    RemoveDirectory(RemoveDirectory),
    RemoveFile(RemoveFile),
    Stat(Stat),
    Watch(Watch),
}

macro_rules! requests {
    ($($operation:ident),+ $(,)?) => {
        $(impl From<$operation> for Request {
            fn from(operation: $operation) -> Self {
                Self::$operation(operation)
            }
        })+
    };
}

requests!(
    Append,
    Commit,
    Copy,
    Create,
    Discard,
    List,
    MakeDirectory,
    Move,
    Open,
    RemoveDirectory,
    RemoveFile,
    Stat,
    Watch
);
