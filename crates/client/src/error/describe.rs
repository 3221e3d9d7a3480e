//! What callers see of an error.

use super::{Error, NotStopped, StopReason, Stopped};
use crate::host_value::{HostText, HostValue};

/// What callers see of an error: all but the class that its code stands for.
#[derive(Debug)]
pub struct Description<'a> {
    /// The machine-readable code.
    pub code: &'static str,
    /// What is wrong, with the hint.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// The fields of the error's class beside these, by name; None for one that is left out.
    pub details: Vec<(&'static str, Option<Detail<'a>>)>,
}

/// A field of an error.
#[derive(Debug)]
pub enum Detail<'a> {
    /// A text.
    Text(&'a str),
    /// A number.
    Number(f64),
    /// A boolean.
    Bool(bool),
    /// Output, which the host keeps.
    Output(&'a HostText),
    /// The standard field `cause`.
    Cause(Cause<'a>),
}

/// What an error was caused by.
#[derive(Debug)]
pub enum Cause<'a> {
    /// Another error.
    Error(&'a Error),
    /// What was thrown, or the reason of an abort.
    Value(&'a HostValue),
    /// A reason in words.
    Reason(&'a str),
}

impl Error {
    /// What callers see of it; an `Err` with what was thrown, which goes through as it is.
    ///
    /// # Errors
    /// It is [`Error::Thrown`].
    pub fn describe(&self) -> Result<Description<'_>, &HostValue> {
        if let Self::Thrown(value) = self {
            return Err(value);
        }
        let hint = self.hint();
        let message = match &hint {
            Some(hint) => format!("{self}. {hint}"),
            None => self.to_string(),
        };
        Ok(Description { code: self.code(), message, hint, details: self.details() })
    }

    /// The machine-readable code.
    fn code(&self) -> &'static str {
        match self {
            Self::Http { .. } => "http",
            Self::Network { .. } => "network",
            Self::Protocol { .. } => "protocol",
            Self::CreateUnknown { .. } => "create_unknown",
            Self::ExitCodeMissing { .. } => "exit_code_missing",
            Self::OutputLost { .. } => "output_lost",
            Self::OutputLimit { .. } => "output_limit",
            Self::Stopped(stopped) => match stopped.why {
                StopReason::Interrupted { .. } => "interrupted",
                StopReason::TimedOut { .. } => "timeout",
                StopReason::InputLost { .. } => "exit_code_missing",
            },
            Self::StillThere(_) => "still_there",
            Self::Unsupported { .. } => "unsupported",
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::Session { .. } => "session",
            Self::Background { .. } => "background",
            Self::NotFound { .. } => "not_found",
            Self::Closed => "closed",
            Self::Thrown(_) => "thrown",
        }
    }

    fn details(&self) -> Vec<(&'static str, Option<Detail<'_>>)> {
        match self {
            Self::Http { operation, status, body, .. } => vec![
                ("status", Some(Detail::Number((*status).into()))),
                ("operation", Some(Detail::Text(operation.name()))),
                ("body", Some(Detail::Text(body))),
            ],
            Self::Network { operation, reason, cause, .. } => vec![
                ("status", Some(Detail::Number(0.0))),
                ("operation", Some(Detail::Text(operation.name()))),
                ("cause", value(cause.as_ref()).or(Some(Detail::Cause(Cause::Reason(reason))))),
            ],
            Self::Protocol { excerpt, .. } => vec![("excerpt", Some(Detail::Text(excerpt)))],
            Self::CreateUnknown { command, cause } => {
                vec![("command", Some(Detail::Text(command))), ("cause", error(Some(cause)))]
            }
            Self::ExitCodeMissing { exec_id, output, cause } => vec![
                ("execId", Some(Detail::Text(exec_id))),
                ("output", Some(Detail::Output(output))),
                ("cause", error(cause.as_deref())),
            ],
            Self::OutputLost { exec_id, from, to, output, exit_code } => vec![
                ("execId", Some(Detail::Text(exec_id))),
                ("from", Some(sequence(*from))),
                ("to", Some(sequence(*to))),
                ("output", Some(Detail::Output(output))),
                ("exitCode", exit_code.map(|code| Detail::Number(code.into()))),
            ],
            Self::OutputLimit { exec_id, output, unstopped, .. } => vec![
                ("execId", Some(Detail::Text(exec_id))),
                ("output", Some(Detail::Output(output))),
                ("cause", unstopped.as_ref().and_then(NotStopped::cause)),
            ],
            Self::Stopped(stopped) => stopped.details(),
            Self::Session { exec_id, output, .. } => vec![
                ("execId", Some(Detail::Text(exec_id))),
                ("output", Some(Detail::Output(output))),
            ],
            Self::StillThere(exec_id) => vec![("execId", Some(Detail::Text(exec_id)))],
            Self::Unsupported { feature, .. } => vec![("feature", Some(Detail::Text(feature)))],
            Self::Background { operation, output, id, refusal, cause, .. } => vec![
                ("operation", Some(Detail::Text(operation))),
                ("output", Some(Detail::Text(output))),
                ("id", id.as_deref().map(Detail::Text)),
                ("reason", refusal.map(|refusal| Detail::Text(refusal.name()))),
                ("cause", value(cause.as_ref())),
            ],
            Self::NotFound { id, .. } => vec![("id", Some(Detail::Text(id)))],
            Self::InvalidArgument { .. } | Self::Closed | Self::Thrown(_) => Vec::new(),
        }
    }
}

impl Stopped {
    fn details(&self) -> Vec<(&'static str, Option<Detail<'_>>)> {
        let (exit_code, cause) = match &self.why {
            // 128 + SIGINT, as a shell has it.
            StopReason::Interrupted { reason } => (Some(130.0), value(reason.as_ref())),
            // As `timeout` of the GNU coreutils has it.
            StopReason::TimedOut { .. } => (Some(124.0), None),
            StopReason::InputLost { error: lost } => (None, error(Some(lost))),
        };
        let not_stopped = || self.unstopped.as_ref().and_then(NotStopped::cause);
        vec![
            ("execId", self.exec_id.as_deref().map(Detail::Text)),
            ("output", Some(Detail::Output(&self.output))),
            ("exitCode", exit_code.map(Detail::Number)),
            ("forced", Some(Detail::Bool(self.forced))),
            ("cause", cause.or_else(not_stopped)),
        ]
    }
}

impl NotStopped {
    fn cause(&self) -> Option<Detail<'_>> {
        match self {
            Self::Undelivered(undelivered) => error(Some(undelivered)),
            Self::StillThere => None,
        }
    }
}

fn error(cause: Option<&Error>) -> Option<Detail<'_>> {
    cause.map(|cause| Detail::Cause(Cause::Error(cause)))
}

fn value(cause: Option<&HostValue>) -> Option<Detail<'_>> {
    cause.map(|cause| Detail::Cause(Cause::Value(cause)))
}

/// Sequence numbers stay far below 2^53, up to which a double is exact.
#[allow(clippy::cast_precision_loss)]
fn sequence(number: u64) -> Detail<'static> {
    Detail::Number(number as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::Operation;

    #[test]
    fn a_network_error_that_nothing_was_thrown_for_has_its_reason_as_the_cause() {
        let network = |cause| Error::Network {
            operation: Operation::GetExec,
            url: "http://x".to_owned(),
            reason: "no answer within 45 s".to_owned(),
            never_sent: false,
            cause,
        };
        let (without, with) = (network(None), network(Some(HostValue::new(7_u8))));
        let cause = |error: &Error| match error.describe().unwrap().details.pop() {
            Some(("cause", Some(Detail::Cause(Cause::Reason(reason))))) => Ok(reason.to_owned()),
            Some(("cause", Some(Detail::Cause(Cause::Value(value))))) => Err(value.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(cause(&without).unwrap(), "no answer within 45 s");
        assert_eq!(cause(&with).unwrap_err().downcast_ref(), Some(&7_u8));
    }

    #[test]
    fn what_a_caller_s_function_threw_goes_through_as_it_is() {
        let error = Error::thrown(HostValue::new("mine"));
        assert_eq!(error.describe().unwrap_err().downcast_ref(), Some(&"mine"));
    }

    #[test]
    fn the_cause_of_a_stop_is_the_caller_s_reason_or_why_it_did_not_succeed() {
        let stopped = |reason| {
            Error::Stopped(Stopped {
                exec_id: None,
                why: StopReason::Interrupted { reason },
                output: HostText::default(),
                forced: false,
                unstopped: Some(NotStopped::Undelivered(Error::Closed.into())),
                incomplete: None,
            })
        };
        let is_error = |error: &Error| {
            let cause = error.describe().unwrap().details.pop().unwrap().1;
            matches!(cause, Some(Detail::Cause(Cause::Error(_))))
        };
        assert!(is_error(&stopped(None)));
        assert!(!is_error(&stopped(Some(HostValue::new("why")))));
    }
}
