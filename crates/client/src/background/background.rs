//! The client of background processes.

use std::rc::Rc;

use super::location::{Location, ProcessId};
use super::process::Process;
use super::read_options::ReadOptions;
use super::read_output::OutputChunk;
use super::run::{RunOptions, RunResult};
use super::spawn::SpawnRequest;
use super::target::{Runtime, Target};
use super::wait::WaitOptions;
use super::{get, list, read_output, remove, run, spawn, terminate, wait};
use crate::call::{Call, call};
use crate::host::Host;

/// The client of the background processes below one directory of one target.
///
/// It holds no state: another client, at another time, sees and does the same. Every call fails where the target can't
/// be asked, or can't do it.
#[derive(Clone, Debug)]
pub struct Background {
    target: Target,
    location: Location,
}

impl Background {
    /// The client of the processes at a place of a runtime's target.
    pub fn new(runtime: Rc<dyn Runtime>, host: Rc<dyn Host>, location: Location) -> Self {
        Self { target: Target::new(runtime, host), location }
    }

    /// Starts a script.
    pub fn spawn(&self, request: SpawnRequest) -> Call<Process> {
        let background = self.clone();
        call(async move {
            spawn::spawn(
                &background.target,
                &background.location,
                &background.target.new_id(),
                request,
            )
            .await
        })
    }

    /// A process as it is now.
    pub fn get(&self, id: ProcessId) -> Call<Process> {
        let background = self.clone();
        call(async move { get::get(&background.target, &background.location, &id).await })
    }

    /// All processes as they are now, newest first.
    pub fn list(&self) -> Call<Vec<Process>> {
        let background = self.clone();
        call(async move { list::list(&background.target, &background.location).await })
    }

    /// Reads output from a place on.
    pub fn read_output(&self, id: ProcessId, options: ReadOptions) -> Call<OutputChunk> {
        let background = self.clone();
        call(async move {
            let window =
                read_output::read_output(&background.target, &background.location, &id, &options)
                    .await?;
            Ok(window.chunk)
        })
    }

    /// Waits for the end of a process, or for a time.
    pub fn wait(&self, id: ProcessId, options: WaitOptions) -> Call<Process> {
        let background = self.clone();
        call(
            async move { wait::wait(&background.target, &background.location, &id, &options).await },
        )
    }

    /// Stops the process group of a process and waits until it is gone.
    pub fn terminate(&self, id: ProcessId, grace_ms: f64) -> Call<Process> {
        let background = self.clone();
        call(async move {
            terminate::terminate(&background.target, &background.location, &id, grace_ms).await
        })
    }

    /// Runs a command and waits for its end.
    pub fn run(&self, request: SpawnRequest, options: RunOptions) -> Call<RunResult> {
        let background = self.clone();
        call(
            async move { run::run(&background.target, &background.location, request, options).await },
        )
    }

    /// Removes a process that has ended, with its output.
    pub fn remove(&self, id: ProcessId) -> Call<()> {
        let background = self.clone();
        call(async move { remove::remove(&background.target, &background.location, &id).await })
    }
}
