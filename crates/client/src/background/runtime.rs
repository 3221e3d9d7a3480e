//! What runs scripts: the caller's.

use std::fmt;

use futures_util::future::LocalBoxFuture;

use crate::AbortSignal;
use crate::HostValue;

/// Something with a shell, of the caller's.
pub trait Runtime {
    /// Runs a script to its end; it may end it when `signal` is aborted.
    fn run(
        &self,
        script: String,
        signal: Option<&AbortSignal>,
    ) -> LocalBoxFuture<'static, Result<ScriptResult, RunFailure>>;
}

impl fmt::Debug for dyn Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Runtime")
    }
}

/// What a script has given.
#[derive(Clone, Debug)]
pub struct ScriptResult {
    /// What its shell ended with.
    pub exit_code: f64,
    /// All that it printed.
    pub output: String,
}

/// Why a script has given nothing.
#[derive(Clone, Debug)]
pub enum RunFailure {
    /// The runtime threw.
    Thrown {
        /// This.
        error: HostValue,
        /// It says for sure that it has not run the script.
        not_run: bool,
    },
    /// The runtime gave something that is no [`ScriptResult`].
    NoResult,
}
