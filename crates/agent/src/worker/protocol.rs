use serde::{Deserialize, Serialize};

use super::operations::{
    Append, Commit, Connect, Copy, Create, Discard, FindOwners, List, ListPorts, MakeDirectory,
    Move, Open, Pack, RemoveDirectory, RemoveFile, Stat, Unpack, Watch, WatchPorts,
};

/// The first message of a conversation: what is asked for. It travels as the messages to the box do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Append(Append),
    Commit(Commit),
    Connect(Connect),
    Copy(Copy),
    Create(Create),
    Discard(Discard),
    FindOwners(FindOwners),
    List(List),
    ListPorts(ListPorts),
    MakeDirectory(MakeDirectory),
    Move(Move),
    Open(Open),
    Pack(Pack),
    RemoveDirectory(RemoveDirectory),
    RemoveFile(RemoveFile),
    Stat(Stat),
    Unpack(Unpack),
    Watch(Watch),
    WatchPorts(WatchPorts),
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
    Connect,
    Copy,
    Create,
    Discard,
    FindOwners,
    List,
    ListPorts,
    MakeDirectory,
    Move,
    Open,
    Pack,
    RemoveDirectory,
    RemoveFile,
    Stat,
    Unpack,
    Watch,
    WatchPorts
);
