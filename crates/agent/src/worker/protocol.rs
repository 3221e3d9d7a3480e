use serde::{Deserialize, Serialize};

use super::operations::{Open, Stat};

/// The first message of a conversation: what is asked for. It travels as the messages to the box do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    Stat(Stat),
    Open(Open),
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

requests!(Stat, Open);
