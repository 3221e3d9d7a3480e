//! What callers see of an error.

use super::{Error, NotStopped, StopReason, Stopped};
use crate::host_value::{HostText, HostValue};

/// What callers see of every error: all but the class that its code stands for, and the fields of that class,
/// which [`Error::visit_details`] gives.
#[derive(Debug)]
pub struct Description {
    /// The machine-readable code.
    pub code: &'static str,
    /// What is wrong, with the hint.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
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
    pub fn describe(&self) -> Result<Description, &HostValue> {
        if let Self::Thrown(value) = self {
            return Err(value);
        }
        let hint = self.hint();
        let message = match &hint {
            Some(hint) => format!("{self}. {hint}"),
            None => self.to_string(),
        };
        Ok(Description { code: self.code(), message, hint })
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

    /// Calls `visit` with each field that the class of this error has beside the code, the message and the hint. One
    /// that is left out is not visited.
    pub fn visit_details(&self, visit: &mut dyn FnMut(&'static str, Detail<'_>)) {
        let cause = match self {
            Self::Http { operation, status, body, .. } => {
                visit("status", Detail::Number((*status).into()));
                visit("operation", Detail::Text(operation.name()));
                visit("body", Detail::Text(body));
                None
            }
            Self::Network { operation, reason, cause, .. } => {
                visit("status", Detail::Number(0.0));
                visit("operation", Detail::Text(operation.name()));
                Some(cause.as_ref().map_or(Cause::Reason(reason), Cause::Value))
            }
            Self::Protocol { excerpt, .. } => {
                visit("excerpt", Detail::Text(excerpt));
                None
            }
            Self::CreateUnknown { command, cause } => {
                visit("command", Detail::Text(command));
                Some(Cause::Error(cause))
            }
            Self::ExitCodeMissing { exec_id, output, cause } => {
                visit_output(visit, exec_id, output);
                cause.as_deref().map(Cause::Error)
            }
            Self::OutputLost { exec_id, from, to, output, exit_code } => {
                visit_output(visit, exec_id, output);
                visit("from", sequence(*from));
                visit("to", sequence(*to));
                if let Some(code) = exit_code {
                    visit("exitCode", Detail::Number((*code).into()));
                }
                None
            }
            Self::OutputLimit { exec_id, output, unstopped, .. } => {
                visit_output(visit, exec_id, output);
                unstopped.as_ref().and_then(NotStopped::cause)
            }
            Self::Stopped(stopped) => stopped.visit_details(visit),
            Self::Session { exec_id, output, .. } => {
                visit_output(visit, exec_id, output);
                None
            }
            Self::StillThere(exec_id) => {
                visit("execId", Detail::Text(exec_id));
                None
            }
            Self::Unsupported { feature, .. } => {
                visit("feature", Detail::Text(feature));
                None
            }
            Self::Background { operation, output, id, refusal, cause, .. } => {
                visit("operation", Detail::Text(operation));
                visit("output", Detail::Text(output));
                if let Some(id) = id {
                    visit("id", Detail::Text(id));
                }
                if let Some(refusal) = refusal {
                    visit("reason", Detail::Text(refusal.name()));
                }
                cause.as_ref().map(Cause::Value)
            }
            Self::NotFound { id, .. } => {
                visit("id", Detail::Text(id));
                None
            }
            Self::InvalidArgument { .. } | Self::Closed | Self::Thrown(_) => None,
        };
        if let Some(cause) = cause {
            visit("cause", Detail::Cause(cause));
        }
    }
}

impl Stopped {
    /// Visits all but the cause, which it gives.
    fn visit_details(&self, visit: &mut dyn FnMut(&'static str, Detail<'_>)) -> Option<Cause<'_>> {
        let (exit_code, cause) = match &self.why {
            // 128 + SIGINT, as a shell has it.
            StopReason::Interrupted { reason } => (Some(130.0), reason.as_ref().map(Cause::Value)),
            // As `timeout` of the GNU coreutils has it.
            StopReason::TimedOut { .. } => (Some(124.0), None),
            StopReason::InputLost { error } => (None, Some(Cause::Error(error))),
        };
        if let Some(id) = &self.exec_id {
            visit("execId", Detail::Text(id));
        }
        visit("output", Detail::Output(&self.output));
        if let Some(code) = exit_code {
            visit("exitCode", Detail::Number(code));
        }
        visit("forced", Detail::Bool(self.forced));
        cause.or_else(|| self.unstopped.as_ref().and_then(NotStopped::cause))
    }
}

impl NotStopped {
    fn cause(&self) -> Option<Cause<'_>> {
        match self {
            Self::Undelivered(undelivered) => Some(Cause::Error(undelivered)),
            Self::StillThere => None,
        }
    }
}

fn visit_output(visit: &mut dyn FnMut(&'static str, Detail<'_>), exec_id: &str, output: &HostText) {
    visit("execId", Detail::Text(exec_id));
    visit("output", Detail::Output(output));
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
        let mut causes = Vec::new();
        for error in [&without, &with] {
            error.visit_details(&mut |_, detail| match detail {
                Detail::Cause(Cause::Reason(reason)) => causes.push(Ok(reason.to_owned())),
                Detail::Cause(Cause::Value(value)) => causes.push(Err(value.clone())),
                _ => {}
            });
        }
        let [Ok(reason), Err(value)] = &causes[..] else {
            panic!("{causes:?}");
        };
        assert_eq!(reason, "no answer within 45 s");
        assert_eq!(value.downcast_ref(), Some(&7_u8));
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
            let mut is_error = None;
            error.visit_details(&mut |_, detail| {
                if let Detail::Cause(cause) = detail {
                    is_error = Some(matches!(cause, Cause::Error(_)));
                }
            });
            is_error.unwrap()
        };
        assert!(is_error(&stopped(None)));
        assert!(!is_error(&stopped(Some(HostValue::new("why")))));
    }
}
