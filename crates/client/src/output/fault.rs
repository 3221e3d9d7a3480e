//! What is wrong with an output.

use sandpipe_protocol::Gap;

use crate::http::excerpt;
use crate::{Error, ExecId, HostOutput, Operation};

/// Something in the output that can't be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OutputFault {
    #[error("{problem}")]
    Protocol { problem: String, excerpt: String },
    #[error("the events from {from} to {to} are missing")]
    Lost { from: u64, to: u64 },
}

impl OutputFault {
    pub(crate) fn protocol(problem: &str, quoted: &[u8]) -> Self {
        let excerpt = excerpt(quoted);
        Self::Protocol { problem: format!("{problem}: {excerpt}"), excerpt }
    }

    /// The error that it stands for in the output of exec `id`.
    pub(crate) fn into_error(self, operation: Operation, id: &ExecId) -> Box<Error> {
        match self {
            Self::Protocol { problem, excerpt } => Error::Protocol { operation, problem, excerpt },
            Self::Lost { from, to } => Error::OutputLost {
                exec_id: id.as_str().to_owned(),
                from,
                to,
                output: HostOutput::default(),
                exit_code: None,
                reason: None,
            },
        }
        .into()
    }
}

impl From<Gap> for OutputFault {
    fn from(Gap { from, to }: Gap) -> Self {
        Self::Lost { from, to }
    }
}
