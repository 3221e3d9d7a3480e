//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target.
//!
//! One operation a file: what it takes, its script, what the answer means. [`Background`] is their client; a
//! [`Runtime`] of the caller's runs the scripts, which are in `sh/`.

mod answer;
mod duration;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod lines;
mod list;
mod location;
mod namespaces;
mod process;
mod read_options;
mod read_output;
mod remove;
mod run;
mod runtime;
mod script;
mod spawn;
mod target;
mod terminate;
mod wait;
mod wait_for_output;
mod wait_for_port;

use std::rc::Rc;

use crate::Host;

pub use location::{Location, ProcessId, path, plain_name};
pub use process::{BackgroundProcess, BackgroundStatus};
pub use read_options::{
    Filter, LineMatcher, MAX_BYTES, MAX_CHARACTER_BYTES, ReadOptions, Start, Stream,
};
pub use read_output::BackgroundOutput;
pub use run::{BackgroundRunResult, RunOptions, WAIT_TIMEOUT_MS};
pub use runtime::{RunFailure, Runtime, ScriptResult};
pub use spawn::{MAX_VARIABLE_BYTES, SpawnOptions};
pub use wait::BackgroundWaitOptions;
pub use wait_for_output::{BackgroundFoundOutput, BackgroundWaitForOutputOptions};

/// The client of the background processes below one directory of one target, which it asks by scripts.
///
/// It holds no state: another client, at another time, sees and does the same. Every call fails where the target can't
/// be asked, or can't do it.
#[derive(Clone)]
pub struct Background {
    pub(super) runtime: Rc<dyn Runtime>,
    pub(super) host: Rc<dyn Host>,
    pub(super) location: Location,
}

impl Background {
    /// The client of the processes at a place of a runtime's target.
    pub fn new(runtime: Rc<dyn Runtime>, host: Rc<dyn Host>, location: Location) -> Self {
        Self { runtime, host, location }
    }

    pub(super) fn now_ms(&self) -> f64 {
        self.host.now_ms()
    }

    pub(super) fn new_id(&self) -> ProcessId {
        ProcessId::of_bytes(self.host.random_bytes())
    }
}
