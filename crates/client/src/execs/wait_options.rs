//! How to follow an exec to its end.

use sandpipe_protocol::OutputType;

use super::StopRequests;
use crate::output::{Encoding, OutputSink};
use crate::{AbortSignal, Host};

/// How long a process may take to end after SIGTERM, in milliseconds, unless the caller says.
pub const DEFAULT_GRACE_MS: f64 = 10_000.0;

/// How to follow an exec to its end: what `exec` and `wait` both take.
pub struct WaitOptions {
    /// Aborted: the command is stopped, gently first.
    pub signal: Option<AbortSignal>,
    /// Aborted: the command is killed.
    pub force_signal: Option<AbortSignal>,
    /// How long the command may take, in milliseconds.
    pub timeout_ms: Option<f64>,
    /// How long it may take to end after SIGTERM, in milliseconds.
    pub grace_ms: f64,
    /// Gets the output as it comes.
    pub listener: Option<Box<dyn OutputSink>>,
    /// The most output that is kept, in bytes, of text as UTF-8: a command that writes more is stopped.
    pub max_output_bytes: Option<u64>,
    /// How the output is wanted. Sessions have text alone.
    pub encoding: Encoding,
    /// Output that is not kept. Sessions keep all.
    pub ignored: Ignored,
}

/// Streams whose output is not kept.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignored {
    /// Not even stdout.
    pub stdout: bool,
    /// Not even stderr.
    pub stderr: bool,
}

impl Ignored {
    pub(super) fn has(self, kind: OutputType) -> bool {
        match kind {
            OutputType::Stdout => self.stdout,
            OutputType::Stderr => self.stderr,
        }
    }
}

impl Default for WaitOptions {
    fn default() -> Self {
        Self {
            signal: None,
            force_signal: None,
            timeout_ms: None,
            grace_ms: DEFAULT_GRACE_MS,
            listener: None,
            max_output_bytes: None,
            encoding: Encoding::Utf8,
            ignored: Ignored::default(),
        }
    }
}

impl WaitOptions {
    /// What may ask for a stop; the timeout runs from now on.
    pub(crate) fn stop_requests(&self, host: &dyn Host) -> StopRequests {
        StopRequests::new(self.signal.clone(), self.force_signal.clone(), self.timeout_ms, host)
    }
}
