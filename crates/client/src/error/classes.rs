//! The classes of errors, as callers see them. The package's TypeScript classes are generated from this list
//! (`src/bin/error-classes.rs`), documentation included.

use super::class::{Detail, ErrorClass, ErrorField, FieldType, OutputText, Visit, error_classes};
use super::{BackgroundErrorReason, NotReady, NotStopped, StopReason, Stopped};
use crate::{Error, HostOutput, HostValue, Operation};

error_classes! {
    /// The agent answered with an error (`http`), or there was no answer (`network`).
    HttpError<'a> = "http" or "network" if "details.status === 0" {
        /// The HTTP status; 0 where there was no answer.
        status: f64,
        /// What the request was for, such as `"create exec"`.
        operation: &'a str,
        /// The body of the answer, as text.
        body: Option<&'a str>,
        /// False where a command was to be run, and the error shows that it has not been.
        mayHaveRun: Option<bool>,
    }

    /// Whether the command was started is not known: no answer to its create came, and the agent can't
    /// tell a repeated create from a new one. It may run.
    CreateUnknownError<'a> = "create_unknown" {
        /// The program that was to be run.
        command: &'a str,
    }

    /// The output ended and no exit code came: what became of the command is not known. It may still
    /// run. Ask again with `execs.wait(error.execId)`.
    ExitCodeMissingError<'a> = "exit_code_missing" {
        /// The exec that it is about.
        execId: &'a str,
        /// The output up to then. Empty where it has been handed over already. Bytes where `encoding: "bytes"` asked for them.
        output: &'a HostOutput,
    }

    /// `signal` or `forceSignal` was aborted: a command was stopped, a transfer or a wait ended. `cause` is the reason.
    InterruptedError<'a> named "AbortError" = "interrupted" {
        /// The exec that it is about; undefined where nothing had been run.
        execId: Option<&'a str>,
        /// The output up to the end. Bytes where `encoding: "bytes"` asked for them.
        output: &'a HostOutput,
        /// 130, whatever the process made of the signal: 128 + SIGINT, as a shell has it.
        exitCode: f64,
        /// Whether it took SIGKILL.
        forced: bool,
    }

    /// `timeoutMs` passed. A command that was run was stopped; where something was only waited for (`waitForOutput`,
    /// `waitFor`), what was to bring it goes on.
    TimeoutError<'a> = "timeout" {
        /// The exec that it is about; undefined where there is none.
        execId: Option<&'a str>,
        /// The output up to the end; of a wait, the last part of it. Bytes where `encoding: "bytes"` asked for them.
        output: &'a HostOutput,
        /// 124, as `timeout` of the GNU coreutils has it.
        exitCode: f64,
        /// Whether it took SIGKILL.
        forced: bool,
    }

    /// There was more output than was allowed, or than a string can hold. Where it was more than `maxOutputBytes`
    /// the command was stopped, and the message says so, or why it could not be.
    OutputLimitError<'a> = "output_limit" {
        /// The exec that it is about; empty for a script of a runtime that has no execs.
        execId: &'a str,
        /// The first part of the output. Bytes where `encoding: "bytes"` asked for them.
        output: &'a HostOutput,
    }

    /// The agent no longer has some of the output that was not read yet. The command was not stopped; if it has
    /// ended, the exit code is known all the same.
    OutputLostError<'a> = "output_lost" {
        /// The exec that it is about.
        execId: &'a str,
        /// The sequence number of the first event that is lost.
        from: f64,
        /// The sequence number of the last event that is lost.
        to: f64,
        /// The output before them. Empty where it has been handed over already. Bytes where `encoding: "bytes"` asked for them.
        output: &'a HostOutput,
        /// What the command ended with; undefined where it still runs, or the agent did not say.
        exitCode: Option<f64>,
        /// Why the agent could not keep them, such as a full disk; undefined where they were more
        /// than its `--spool-limit`.
        reason: Option<&'a str>,
    }

    /// The agent said something that is not the protocol: the address may not be an agent's.
    ProtocolError<'a> = "protocol" {
        /// The beginning of what it said.
        excerpt: &'a str,
    }

    /// It needs an extension that this agent does not offer.
    UnsupportedError<'a> = "unsupported" {
        /// The extension, as agents announce it.
        feature: &'a str,
    }

    /// An argument was wrong. The message says which, what it was, and what is right.
    InvalidArgumentError = "invalid_argument" {}

    /// A process ended before what was waited for had come: a text in its output, or a port that is listened on.
    NotReadyError<'a> = "not_ready" {
        /// The exec that ended, if it is one.
        execId: Option<&'a str>,
        /// The background process that ended, if it is one.
        id: Option<&'a str>,
        /// What it ended with, 128 + N after death by signal N; undefined where nobody knows.
        exitCode: Option<f64>,
        /// The last part of its output, up to 4 KiB.
        output: OutputText<'a>,
    }

    /// A file was changed, or replaced, while it was read. What was read of it is of the one that it was before.
    FileChangedError<'a> = "file_changed" {
        /// The file.
        path: &'a str,
    }

    /// A file was to be read as text, and is not UTF-8, or longer than a string can be. `files.bytes()` and
    /// `files.readStream()` give it as it is.
    NotTextError<'a> = "not_text" {
        /// The file.
        path: &'a str,
    }

    /// A directory can't be watched any more: it is gone, say. The message says why.
    WatchEndedError<'a> = "watch_ended" {
        /// The directory.
        path: &'a str,
    }

    /// Whether something was done to a file is not known: no answer came, and to do it again could do it twice. `cause` is
    /// what went wrong.
    OutcomeUnknownError<'a> = "outcome_unknown" {
        /// What was to be done, such as `"move file"`.
        operation: &'a str,
        /// To which path.
        path: &'a str,
    }

    /// Processes of an exec are still there although they were killed: the system holds them up.
    StillThereError<'a> = "still_there" {
        /// The exec that it is about.
        execId: &'a str,
    }

    /// A session's shell could not be started, or the session is over. The message says why.
    SessionError<'a> = "session" {
        /// The exec that is, or was, the shell.
        execId: &'a str,
        /// What the script had written, if it had begun.
        output: OutputText<'a>,
    }

    /// The target of a background process could not do what was asked for, and the message says why; or
    /// its shell did not answer to the end.
    BackgroundError<'a> = "background" {
        /// What was to be done, such as `"spawn process"`.
        operation: &'a str,
        /// The beginning of what the target's shell printed.
        output: &'a str,
        /// The process that it is about, if it is about one: it may be asked for again.
        id: Option<&'a str>,
        /// Why the target refused, where the caller can see to that.
        reason: Option<BackgroundErrorReason>,
    }

    /// There is no background process of that id below the client's `baseDir` and `workspace`.
    NotFoundError<'a> = "not_found" {
        /// The id that was asked for.
        id: &'a str,
    }

    /// The sandbox had been closed, or was closed while the call was under way.
    ClosedError = "closed" {}

    // Thrown by the package's TypeScript:

    /// The package's WebAssembly module could not be loaded. `cause` is why, `hint` what to configure.
    LoadError = "load" {}

    /// The embedded agent could not be found, or did not start.
    AgentError = "agent" {}

    /// This machine refused something: to read a file, to listen on a port, to start a shell. `cause` is what Node.js threw.
    SystemError<'a> = "system" {
        /// The system's name of what is wrong, such as `ENOENT`.
        errno: &'a str,
        /// False where a script was to be run, and has not been.
        mayHaveRun: Option<bool>,
    }

    /// A machine could not be reached over SSH, or the connection was lost.
    SshError<'a> = "ssh" {
        /// The machine.
        host: &'a str,
        /// Whether the script was sent: then it may have run, and may still.
        mayHaveRun: bool,
        /// The script's output up to then.
        output: &'a str,
    }
}

impl FieldType for BackgroundErrorReason {
    const TYPESCRIPT: &'static str = "BackgroundErrorReason";

    fn detail(&self) -> Option<Detail<'_>> {
        Some(Detail::Text(self.name()))
    }
}

/// What callers see of an error beside the fields of its class.
#[derive(Debug)]
pub struct Description<'a> {
    /// The name of its class.
    pub class: &'static str,
    /// What is wrong, with the hint.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What it was caused by.
    pub cause: Option<Cause<'a>>,
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
    /// What callers see of it; `visit` is called with each field of its class that is not left out.
    ///
    /// # Errors
    /// It is [`Error::Thrown`]: what was thrown goes through as it is.
    pub fn describe(&self, visit: &mut Visit<'_>) -> Result<Description<'_>, &HostValue> {
        let mut cause = None;
        let class = match self {
            Self::Http { operation, status, body, not_run, .. } => {
                let status = f64::from(*status);
                http_error(status, *operation, Some(body), *not_run).visit(visit)
            }
            Self::Network { operation, reason, not_run, cause: thrown, .. } => {
                cause = Some(thrown.as_ref().map_or(Cause::Reason(reason), Cause::Value));
                http_error(0.0, *operation, None, *not_run).visit(visit)
            }
            Self::Protocol { excerpt, .. } => ProtocolError { excerpt }.visit(visit),
            Self::CreateUnknown { command, cause: error } => {
                cause = Some(Cause::Error(error));
                CreateUnknownError { command }.visit(visit)
            }
            Self::ExitCodeMissing { exec_id, output, cause: error } => {
                cause = error.as_deref().map(Cause::Error);
                ExitCodeMissingError { execId: exec_id, output }.visit(visit)
            }
            Self::OutputLost { exec_id, from, to, output, exit_code, reason } => {
                let [from, to] = [*from, *to].map(sequence);
                let exit_code = exit_code.map(Into::into);
                let reason = reason.as_deref();
                OutputLostError { execId: exec_id, from, to, output, exitCode: exit_code, reason }
                    .visit(visit)
            }
            Self::OutputLimit { exec_id, output, unstopped, .. } => {
                cause = unstopped.as_ref().and_then(NotStopped::cause);
                OutputLimitError { execId: exec_id, output }.visit(visit)
            }
            Self::Stopped(stopped) => {
                cause = stopped.cause();
                stopped.visit(visit)
            }
            Self::Session { exec_id, output, .. } => {
                SessionError { execId: exec_id, output: OutputText(output) }.visit(visit)
            }
            Self::NotReady(NotReady { exec_id, id, exit_code, output, .. }) => {
                let (exec_id, id) = (exec_id.as_deref(), id.as_deref());
                let (exit_code, output) = (exit_code.map(Into::into), OutputText(output));
                NotReadyError { execId: exec_id, id, exitCode: exit_code, output }.visit(visit)
            }
            Self::WaitTimedOut { exec_id, output, .. } => {
                timeout_error(exec_id.as_deref(), output, false).visit(visit)
            }
            Self::FileChanged { path } => FileChangedError { path }.visit(visit),
            Self::NotText { path, .. } => NotTextError { path }.visit(visit),
            Self::WatchEnded { path, .. } => WatchEndedError { path }.visit(visit),
            Self::OutcomeUnknown { operation, path, cause: error } => {
                cause = Some(Cause::Error(error));
                OutcomeUnknownError { operation: operation.name(), path }.visit(visit)
            }
            Self::StillThere(exec_id) => StillThereError { execId: exec_id }.visit(visit),
            Self::Unsupported { feature, .. } => UnsupportedError { feature }.visit(visit),
            Self::Background { operation, output, id, refusal, cause: thrown, .. } => {
                cause = thrown.as_ref().map(Cause::Value);
                let (id, reason) = (id.as_deref(), *refusal);
                BackgroundError { operation, output, id, reason }.visit(visit)
            }
            Self::NotFound { id, .. } => NotFoundError { id }.visit(visit),
            Self::InvalidArgument { .. } => InvalidArgumentError {}.visit(visit),
            Self::Closed => ClosedError {}.visit(visit),
            Self::Thrown(value) => return Err(value),
        };
        let hint = self.hint();
        let message = match &hint {
            Some(hint) => format!("{self}. {hint}"),
            None => self.to_string(),
        };
        Ok(Description { class, message, hint, cause })
    }

    /// What to do about it.
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http { max_delay_ms: Some(_), .. } => {
                "Call again then, or raise `retry.maxDelayMs`.".into()
            }
            Self::Http { status: 300..=399, .. } => {
                "If the agent is there, pass its address to connect() as `url`.".into()
            }
            Self::Http { status: 401, .. } => {
                "Pass the agent's token to connect() as `token`.".into()
            }
            Self::Http { status: 409, operation: Operation::RemoveFile, .. } => {
                "Pass { recursive: true } to remove a directory with all that is in it.".into()
            }
            // A create is also refused for its policy.
            Self::Http { status: 403, operation, message, .. }
                if !operation.is_of_files()
                    && !message.as_ref().is_some_and(|message| message.contains("policy")) =>
            {
                "Use the agent's admin token: a read-only one may only look.".into()
            }
            Self::Http { status: 404, message: None, .. } | Self::Protocol { .. } => {
                "Check that the `url` given to connect() is an agent's, without /api.".into()
            }
            Self::Network { .. } => {
                "Check that the agent runs and that the `url` given to connect() is its address; \
                 in a browser also that the agent allows this page's origin (--allow-origin)."
                    .into()
            }
            Self::CreateUnknown { .. } => "Look for it with execs.list() before you run it \
                 again: it may run."
                .into(),
            Self::ExitCodeMissing { exec_id, .. } => {
                format!("Ask again with execs.wait(\"{exec_id}\").")
            }
            Self::OutputLost { exec_id, to, reason: Some(_), .. } => format!(
                "Make room there; execs.streamOutput(\"{exec_id}\", {to}) reads what comes after."
            ),
            Self::OutputLost { reason: None, .. } => {
                "Raise the agent's --spool-limit, or read the output while the command runs.".into()
            }
            Self::OutputLimit { exec_id, unstopped: None, .. } => {
                format!("Read it piece by piece with execs.streamOutput(\"{exec_id}\").")
            }
            Self::OutputLimit { exec_id, .. } => still_runs(exec_id),
            Self::Stopped(stopped) => match (&stopped.exec_id, &stopped.unstopped) {
                (Some(exec_id), Some(_)) => still_runs(exec_id),
                _ => return None,
            },
            Self::FileChanged { .. } => "Read it again from its beginning.".into(),
            Self::NotText { .. } => {
                "Read it with files.bytes(), or piece by piece with files.readStream().".into()
            }
            Self::OutcomeUnknown { .. } => "Look with files.stat() before you do it again.".into(),
            Self::Session { .. } => "Make another with sessions.create().".into(),
            Self::NotFound { .. } => {
                "Look for it with list(): it may have been removed, or be in another \
                 `baseDir` or `namespace`."
                    .into()
            }
            Self::Background { refusal: Some(BackgroundErrorReason::Running), .. } => {
                "Stop it with terminate() first.".into()
            }
            Self::Background { refusal: Some(BackgroundErrorReason::Untrusted), .. } => {
                "Name a directory of your own as `baseDir`.".into()
            }
            Self::Closed => "Make another with connect().".into(),
            Self::Http { .. }
            | Self::NotReady(_)
            | Self::WaitTimedOut { .. }
            | Self::WatchEnded { .. }
            | Self::StillThere(_)
            | Self::Unsupported { .. }
            | Self::InvalidArgument { .. }
            | Self::Background { .. }
            | Self::Thrown(_) => return None,
        };
        Some(hint)
    }
}

fn http_error(
    status: f64,
    operation: Operation,
    body: Option<&str>,
    not_run: bool,
) -> HttpError<'_> {
    let may_have_run = not_run.then_some(false);
    HttpError { status, operation: operation.name(), body, mayHaveRun: may_have_run }
}

/// Its exit code is as `timeout` of the GNU coreutils has it.
fn timeout_error<'a>(
    exec_id: Option<&'a str>,
    output: &'a HostOutput,
    forced: bool,
) -> TimeoutError<'a> {
    TimeoutError { execId: exec_id, output, exitCode: 124.0, forced }
}

fn still_runs(exec_id: &str) -> String {
    format!("It may still run: stop it with execs.terminate(\"{exec_id}\").")
}

impl Stopped {
    fn visit(&self, visit: &mut Visit<'_>) -> &'static str {
        let Self { output, forced, .. } = self;
        let (exec_id, forced) = (self.exec_id.as_deref(), *forced);
        match &self.why {
            // 128 + SIGINT, as a shell has it.
            StopReason::Interrupted { .. } => {
                InterruptedError { execId: exec_id, output, exitCode: 130.0, forced }.visit(visit)
            }
            StopReason::TimedOut { .. } => timeout_error(exec_id, output, forced).visit(visit),
            StopReason::InputLost { .. } => {
                ExitCodeMissingError { execId: exec_id.unwrap_or_default(), output }.visit(visit)
            }
        }
    }

    fn cause(&self) -> Option<Cause<'_>> {
        let cause = match &self.why {
            StopReason::Interrupted { reason } => reason.as_ref().map(Cause::Value),
            StopReason::TimedOut { .. } => None,
            StopReason::InputLost { error } => Some(Cause::Error(error)),
        };
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

/// Sequence numbers stay far below 2^53, up to which a double is exact.
#[allow(clippy::cast_precision_loss)]
fn sequence(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(error: &Error) -> Option<Cause<'_>> {
        error.describe(&mut |_, _| {}).unwrap().cause
    }

    #[test]
    fn a_network_error_that_nothing_was_thrown_for_has_its_reason_as_the_cause() {
        let network = |cause| Error::Network {
            operation: Operation::GetExec,
            url: "http://x".to_owned(),
            reason: "no answer within 45 s".to_owned(),
            never_sent: false,
            not_run: false,
            cause,
        };
        assert!(matches!(cause(&network(None)), Some(Cause::Reason("no answer within 45 s"))));
        assert!(matches!(cause(&network(Some(HostValue::new(7_u8)))), Some(Cause::Value(_))));
    }

    #[test]
    fn what_a_caller_s_function_threw_goes_through_as_it_is() {
        let error = Error::thrown(HostValue::new("mine"));
        assert_eq!(error.describe(&mut |_, _| {}).unwrap_err().downcast_ref(), Some(&"mine"));
    }

    #[test]
    fn the_cause_of_a_stop_is_the_caller_s_reason_or_why_it_did_not_succeed() {
        let stopped = |reason| {
            Error::Stopped(Stopped {
                exec_id: None,
                why: StopReason::Interrupted { reason },
                output: HostOutput::default(),
                forced: false,
                unstopped: Some(NotStopped::Undelivered(Error::Closed.into())),
                incomplete: None,
            })
        };
        assert!(matches!(cause(&stopped(None)), Some(Cause::Error(Error::Closed))));
        assert!(matches!(cause(&stopped(Some(HostValue::new(1)))), Some(Cause::Value(_))));
    }
}
