//! What runs scripts: the caller's.

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

/// What a script has given.
#[derive(Clone)]
pub struct ScriptResult {
    /// What the shell of the script ended with.
    pub exit_code: f64,
    /// Standard output of the script.
    pub output: String,
}

/// Why a script has given nothing.
#[derive(Clone)]
pub enum RunFailure {
    /// A function of the runtime, which is the caller's, threw.
    Thrown {
        /// What it threw.
        error: HostValue,
        /// It says for sure that it has not run the script.
        not_run: bool,
    },
    /// The runtime gave something that is no [`ScriptResult`].
    NoResult,
}
