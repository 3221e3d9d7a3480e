//! What an error means for what is done next.

use super::{Error, NotStopped, Stopped};
use crate::HostValue;
use crate::operation::Operation;

impl Error {
    /// What a function of the caller's threw.
    pub fn thrown(value: HostValue) -> Box<Self> {
        Box::new(Self::Thrown(value))
    }

    /// The same, as a failure of another operation: of the one that the caller asked for.
    pub fn with_operation(mut self: Box<Self>, wanted: Operation) -> Box<Self> {
        if let Self::Http { operation, .. }
        | Self::Network { operation, .. }
        | Self::Protocol { operation, .. } = &mut *self
        {
            *operation = wanted;
        }
        self
    }

    /// The same, as that of a create which has created nothing, for sure.
    pub(crate) fn of_refused_create(self: Box<Self>) -> Box<Self> {
        let mut error = self.with_operation(Operation::CreateExec);
        if let Self::Http { not_run, .. } | Self::Network { not_run, .. } = &mut *error {
            *not_run = true;
        }
        error
    }

    /// Whether what was asked for may have been done all the same: there was no answer, or trouble
    /// on the way.
    pub fn is_ambiguous(&self) -> bool {
        match self {
            Self::Network { never_sent, .. } => !never_sent,
            Self::Http { status, .. } => *status >= 500 || *status == 408,
            _ => false,
        }
    }

    /// Whether it is a request that failed, by the status of its answer or for lack of one: what was asked for is not
    /// known. All other errors are the caller's, or say more.
    pub fn is_failed_request(&self) -> bool {
        match self {
            Self::Http { .. } | Self::Network { .. } => true,
            Self::Protocol { .. }
            | Self::CreateUnknown { .. }
            | Self::ExitCodeMissing { .. }
            | Self::OutputLost { .. }
            | Self::OutputLimit { .. }
            | Self::Stopped(_)
            | Self::NotReady(_)
            | Self::WaitTimedOut { .. }
            | Self::FileChanged { .. }
            | Self::NotText { .. }
            | Self::WatchEnded { .. }
            | Self::OutcomeUnknown { .. }
            | Self::StillThere(_)
            | Self::Unsupported { .. }
            | Self::InvalidArgument { .. }
            | Self::Session { .. }
            | Self::Background { .. }
            | Self::NotFound { .. }
            | Self::Closed
            | Self::Thrown(_) => false,
        }
    }

    /// Where to say why a command may still run that is to be stopped for this error; None where it is to go on.
    pub(crate) fn unstopped_mut(&mut self) -> Option<&mut Option<NotStopped>> {
        match self {
            Self::OutputLimit { limit, unstopped, .. } if limit.stops_command() => Some(unstopped),
            _ => None,
        }
    }

    /// The exec of a command that was stopped, if nothing of it is left.
    pub(crate) fn stopped_exec(&self) -> Option<&str> {
        match self {
            Self::Stopped(Stopped { exec_id: Some(id), unstopped: None, .. }) => Some(id),
            Self::OutputLimit { exec_id, limit, unstopped: None, .. } if limit.stops_command() => {
                Some(exec_id)
            }
            _ => None,
        }
    }

    /// Whether the sandbox was closed meanwhile.
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// Whether the agent can't have seen the request.
    pub fn is_never_sent(&self) -> bool {
        matches!(self, Self::Network { never_sent: true, .. })
    }

    /// The status of an agent's own answer, which has a message: not that of a gateway's page.
    pub(crate) fn status_of_agent(&self) -> Option<u16> {
        match self {
            Self::Http { status, message: Some(_), .. } => Some(*status),
            _ => None,
        }
    }

    /// The HTTP status that it is about, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Http { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The pause that the server asked for, in milliseconds.
    pub fn retry_after_ms(&self) -> Option<f64> {
        match self {
            Self::Http { retry_after_ms, .. } => *retry_after_ms,
            _ => None,
        }
    }

    /// The same error, if the server asked for a longer pause than this.
    pub fn asking_too_long(&self, limit_ms: f64) -> Option<Box<Self>> {
        if self.retry_after_ms()? <= limit_ms {
            return None;
        }
        let mut refusal = Box::new(self.clone());
        if let Self::Http { max_delay_ms, .. } = &mut *refusal {
            *max_delay_ms = Some(limit_ms);
        }
        Some(refusal)
    }
}
