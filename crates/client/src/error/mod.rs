//! Why a call was refused or failed, as plain data.
//!
//! What the host has to say of it (a value that was thrown, the output so far) is in it as a
//! [`HostValue`] or [`HostOutput`]. [`Error::describe`] is what callers are to see.

mod class;
mod classes;
mod predicates;

pub use class::{Detail, ErrorClass, ErrorField};
pub use classes::{CLASSES, Cause, Description};

use crate::host_value::{HostOutput, HostValue};
use crate::operation::Operation;

/// Everything that a call can fail with.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The agent, or something on the way to it, answered with another status than 2xx.
    #[error(
        "{}: the agent answered {status}{}{}",
        .operation.name(),
        because_of_message(.message.as_deref()),
        describe_retry_after(*.retry_after_ms, *.max_delay_ms)
    )]
    Http {
        /// What the request was for.
        operation: Operation,
        /// The status of the answer (RFC 9110, 15).
        status: u16,
        /// The reason that the agent gave. None where something else than the agent answered.
        message: Option<String>,
        /// The body of the answer, as much of it as is read of an error.
        body: String,
        /// What the header `Retry-After` asks for, in milliseconds.
        retry_after_ms: Option<f64>,
        /// The longest pause that is allowed, where that is why there is no other attempt.
        max_delay_ms: Option<f64>,
        /// It shows that a command that was to be run has not been.
        not_run: bool,
    },
    /// There was no answer.
    #[error("{}: no answer from {url}: {reason}", .operation.name())]
    Network {
        /// What the request was for.
        operation: Operation,
        /// The address of the request.
        url: String,
        /// What went wrong, in the words of the host.
        reason: String,
        /// There was no connection, so the agent can't have seen the request.
        never_sent: bool,
        /// It shows that a command that was to be run has not been.
        not_run: bool,
        /// What the host's own function threw, if that is why.
        cause: Option<HostValue>,
    },
    /// The answer is not what the agent's interface says.
    #[error("{}: {problem}", .operation.name())]
    Protocol {
        /// What the request was for.
        operation: Operation,
        /// What is wrong with the answer.
        problem: String,
        /// The beginning of what can't be understood.
        excerpt: String,
    },
    /// An exec may have been created.
    #[error("create exec: whether {command:?} was started is not known: {cause}")]
    CreateUnknown {
        /// The program that was to be run.
        command: String,
        /// Why it is not known.
        cause: Box<Error>,
    },
    /// An exec's output ended without an exit code.
    #[error(
        "the output of exec {exec_id} ended without an exit code: what became of the command is \
         not known{}",
        because(.cause.as_deref())
    )]
    ExitCodeMissing {
        /// The exec, of which `get` may know more.
        exec_id: String,
        /// What there was of its output.
        output: HostOutput,
        /// What ended it, if that is known.
        cause: Option<Box<Error>>,
    },
    /// The agent has dropped output that had not been read.
    #[error(
        "events {from} to {to} of exec {exec_id} are lost: {}{}",
        .reason.as_deref().unwrap_or("the agent does not have them any more"),
        with_exit_code(*.exit_code)
    )]
    OutputLost {
        /// The exec whose output it is.
        exec_id: String,
        /// The sequence of the first event that is lost.
        from: u64,
        /// The sequence of the last one.
        to: u64,
        /// What came before them, where it has not been handed over.
        output: HostOutput,
        /// What the command ended with, if that is known.
        exit_code: Option<i32>,
        /// Why the agent could not keep them, if it said so.
        reason: Option<String>,
    },
    /// There is more output than is allowed, or than one text can hold.
    #[error("the output of exec {exec_id} is longer than {limit}{}", stopped(limit, .unstopped.as_ref()))]
    OutputLimit {
        /// The exec whose output it is.
        exec_id: String,
        /// What it is longer than.
        limit: OutputLimit,
        /// As much of it as fits.
        output: HostOutput,
        /// Why the command may still run, if so.
        unstopped: Option<NotStopped>,
    },
    /// A command was stopped before it ended by itself.
    #[error("{}", .0.message())]
    Stopped(Stopped),
    /// A process ended before what was waited for had come.
    #[error("{}", .0.message())]
    NotReady(NotReady),
    /// What was waited for did not come in time. What was to bring it goes on.
    #[error("{waited_for} was waited for, and did not come within {} ms", whole_ms(*.milliseconds))]
    WaitTimedOut {
        /// What was waited for.
        waited_for: String,
        /// How long it was waited for.
        milliseconds: f64,
        /// The exec that was to bring it, if it is one.
        exec_id: Option<String>,
        /// The last part of its output.
        output: HostOutput,
    },
    /// A file is another one than the one whose first part has been read.
    #[error("{path:?} has changed while it was read")]
    FileChanged {
        /// Its path.
        path: String,
    },
    /// A file has no text, or more than a string can hold.
    #[error("{path:?} is {problem}")]
    NotText {
        /// Its path.
        path: String,
        /// What it is instead.
        problem: &'static str,
    },
    /// A directory can't be watched any more.
    #[error("{path:?} can't be watched any more: {reason}")]
    WatchEnded {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// Something may have been done, and can't be repeated.
    #[error("{} {path:?}: whether it was done is not known: {cause}", .operation.name())]
    OutcomeUnknown {
        /// What was to be done.
        operation: Operation,
        /// To which path.
        path: String,
        /// Why it is not known.
        cause: Box<Error>,
    },
    /// Processes of this exec are left after SIGKILL.
    #[error("processes of exec {0} are still there after SIGKILL")]
    StillThere(String),
    /// The agent lacks an extension.
    #[error("this agent does not offer {feature:?}, which {what} needs")]
    Unsupported {
        /// The extension, as `/health` has it.
        feature: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// An argument of a call is wrong.
    #[error("`{name}` must be {expected}, but is {actual}")]
    InvalidArgument {
        /// Which one, with its path, such as `options.graceMs`.
        name: String,
        /// What is right.
        expected: String,
        /// The value that was passed, shortened.
        actual: String,
    },
    /// A session can't be used, or not any more.
    #[error("{reason}")]
    Session {
        /// The exec of the session's shell.
        exec_id: String,
        /// Why, as a sentence.
        reason: String,
        /// What the script had written.
        output: HostOutput,
    },
    /// The target of a background process could not do it, or did not say what it did.
    #[error("{operation}{}: {problem}", of_process(.id.as_deref()))]
    Background {
        /// What was to be done.
        operation: &'static str,
        /// What is wrong with the answer of the target.
        problem: String,
        /// What the script for the target printed.
        output: String,
        /// The process that it is about, if it is about one.
        id: Option<String>,
        /// Why the target refused, where a caller can see to that.
        refusal: Option<BackgroundErrorReason>,
        /// What the runtime threw, if that is why.
        cause: Option<HostValue>,
    },
    /// There is no such background process.
    #[error("{operation}: there is no process {id:?}")]
    NotFound {
        /// What was to be done with it.
        operation: &'static str,
        /// The id that no process has.
        id: String,
    },
    /// The sandbox has been closed.
    #[error("this sandbox is closed")]
    Closed,
    /// What a function of the caller's threw, or the reason that it gave for an abort. It goes
    /// through as it is.
    #[error("thrown by the caller")]
    Thrown(HostValue),
}

/// A process that ended before what was waited for had come.
#[derive(Clone, Debug)]
pub struct NotReady {
    /// What ended, such as `exec 7`.
    pub subject: String,
    /// What was waited for, as a sentence.
    pub waited_for: String,
    /// The exec, if it is one.
    pub exec_id: Option<String>,
    /// The background process, if it is one.
    pub id: Option<String>,
    /// What it ended with; None where nobody knows.
    pub exit_code: Option<i32>,
    /// The last part of its output.
    pub output: HostOutput,
    /// The last line of it that is not empty, shortened.
    pub last_line: String,
}

impl NotReady {
    fn message(&self) -> String {
        let Self { subject, waited_for, last_line, .. } = self;
        let code = self.exit_code.map(|code| format!(" with exit code {code}"));
        let last =
            (!last_line.is_empty()).then(|| format!("; the last of its output: {last_line}"));
        let [code, last] = [code, last].map(Option::unwrap_or_default);
        format!("{subject} ended{code} before {waited_for}{last}")
    }
}

/// A command that was stopped before it ended by itself.
#[derive(Clone, Debug)]
pub struct Stopped {
    /// None where nothing had been created.
    pub exec_id: Option<String>,
    /// What it was stopped for.
    pub why: StopReason,
    /// Its output up to the end.
    pub output: HostOutput,
    /// It took SIGKILL.
    pub forced: bool,
    /// Why it may still run, if so.
    pub unstopped: Option<NotStopped>,
    /// Why some of its output is missing, if so.
    pub incomplete: Option<Box<Error>>,
}

/// Why processes of a command that was to be stopped may be left.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NotStopped {
    /// No signal could be delivered.
    #[error("it could not be stopped: {0}")]
    Undelivered(Box<Error>),
    /// They are left after SIGKILL.
    #[error("processes of it are still there after SIGKILL")]
    StillThere,
}

/// Why a command was stopped.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StopReason {
    /// The caller's signal was aborted.
    #[error("interrupted")]
    Interrupted {
        /// The reason of the signal.
        reason: Option<HostValue>,
    },
    /// It took longer than it was allowed to.
    #[error("timed out after {} ms", whole_ms(*milliseconds))]
    TimedOut {
        /// How long it was allowed to take.
        milliseconds: f64,
    },
    /// Half of its input is worse than none.
    #[error("its input could not be delivered: {error}")]
    InputLost {
        /// Why it could not be delivered.
        error: Box<Error>,
    },
}

/// Why the target of a background process refuses what it could do otherwise:
///
/// - `running`: the process, or something that it started, still runs
/// - `untrusted`: the directory of the processes is not its owner's alone
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify))]
#[cfg_attr(feature = "typescript", serde(rename_all = "lowercase"))]
pub enum BackgroundErrorReason {
    /// The process, or something that it started, still runs.
    Running,
    /// The directory of the processes is not its owner's alone.
    Untrusted,
}

impl BackgroundErrorReason {
    /// The `reason` of a `BackgroundError`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Untrusted => "untrusted",
        }
    }
}

/// What output was too long for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputLimit {
    /// The longest text that every engine can hold.
    #[error("a JS string can be ({0} UTF-16 code units)")]
    String(u32),
    /// The longest array of bytes.
    #[error("an array of bytes can be ({0} bytes)")]
    Array(u32),
    /// What the caller allows.
    #[error("`maxOutputBytes` allows ({0} bytes)")]
    Bytes(u64),
}

impl OutputLimit {
    /// Whether a command that writes more is stopped: it is the caller who allows no more.
    pub(super) fn stops_command(self) -> bool {
        match self {
            Self::String(_) | Self::Array(_) => false,
            Self::Bytes(_) => true,
        }
    }
}

/// In a box: every step of a call hands it on, and is smaller where that is a pointer.
pub type Result<T> = std::result::Result<T, Box<Error>>;

impl Stopped {
    fn message(&self) -> String {
        let subject = self.exec_id.as_ref().map_or_else(String::new, |id| format!("exec {id}: "));
        let unstopped = self.unstopped.as_ref().map(|unstopped| format!("; {unstopped}"));
        let incomplete = self.incomplete.as_ref();
        let incomplete =
            incomplete.map(|error| format!("; some of its output is missing: {error}"));
        let [unstopped, incomplete] = [unstopped, incomplete].map(Option::unwrap_or_default);
        format!("{subject}{}{unstopped}{incomplete}", self.why)
    }
}

fn because_of_message(message: Option<&str>) -> String {
    message.map_or_else(String::new, |message| format!(": {message}"))
}

fn of_process(id: Option<&str>) -> String {
    id.map_or_else(String::new, |id| format!(" {id}"))
}

/// Milliseconds as messages have them, whole: Rust's own code for fractions is large.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn whole_ms(milliseconds: f64) -> u64 {
    milliseconds.ceil() as u64
}

/// What is said of a server that asks for a longer pause than is allowed.
fn describe_retry_after(retry_after_ms: Option<f64>, max_delay_ms: Option<f64>) -> String {
    let (Some(requested), Some(allowed)) = (retry_after_ms, max_delay_ms) else {
        return String::new();
    };
    format!(
        "; it asks for a pause of {} s (Retry-After), and {} s are allowed",
        whole_ms(requested / 1000.0),
        whole_ms(allowed / 1000.0)
    )
}

fn because(cause: Option<&Error>) -> String {
    cause.map_or_else(String::new, |cause| format!(" ({cause})"))
}

/// What became of a command whose output is lost.
fn with_exit_code(exit_code: Option<i32>) -> String {
    exit_code.map_or_else(String::new, |code| format!("; the command ended with exit code {code}"))
}

/// What became of a command whose output is too long.
fn stopped(limit: &OutputLimit, unstopped: Option<&NotStopped>) -> String {
    match unstopped {
        _ if !limit.stops_command() => String::new(),
        None => "; the command was stopped".to_owned(),
        Some(unstopped) => format!("; {unstopped}"),
    }
}
