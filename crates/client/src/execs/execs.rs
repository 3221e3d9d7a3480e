//! The client of an agent's execs.

use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStdin};

use super::create::create;
use super::delete::delete;
use super::exec::{ExecArguments, exec};
use super::get::get;
use super::get_output::get_output;
use super::id::ExecId;
use super::list::list;
use super::list_stream::ListStream;
use super::output_reader::OutputReader;
use super::run_script::{run_script, run_script_and_forget};
use super::send_stdin::send_stdin;
use super::signal::kill;
use super::start::start;
use super::terminate::{TerminateOptions, Terminated, terminate};
use super::wait::wait;
use super::wait_options::WaitOptions;
use crate::abort::AbortSignal;
use crate::agent::Agent;
use crate::call::{Call, call};
use crate::output::transcript::ExecResult;

/// The client of an agent's execs. Every call fails where the agent refuses it, or can't be asked.
#[derive(Clone, Debug)]
pub struct Execs {
    agent: Agent,
}

impl Execs {
    /// The execs of an agent. Nothing is asked yet.
    #[must_use]
    pub fn new(agent: Agent) -> Self {
        Self { agent }
    }

    /// The agent whose execs they are.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Creates an exec, at most once.
    #[must_use]
    pub fn create(&self, request: CreateExecRequest) -> Call<ExecItem> {
        let agent = self.agent.clone();
        call(async move { create(&agent, &request).await })
    }

    /// Starts an exec that was created without being started.
    #[must_use]
    pub fn start(&self, id: ExecId) -> Call<ExecItem> {
        let agent = self.agent.clone();
        call(async move { start(&agent, &id).await })
    }

    /// What the agent says of an exec.
    #[must_use]
    pub fn get(&self, id: ExecId) -> Call<ExecItem> {
        let agent = self.agent.clone();
        call(async move { get(&agent, &id).await })
    }

    /// All execs, newest first, long command lines short.
    #[must_use]
    pub fn list(&self) -> Call<Vec<ExecItem>> {
        let agent = self.agent.clone();
        call(async move { list(&agent).await })
    }

    /// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
    #[must_use]
    pub fn delete(&self, id: ExecId) -> Call<()> {
        let agent = self.agent.clone();
        call(async move { delete(&agent, &id).await })
    }

    /// Runs a command to its end.
    #[must_use]
    pub fn exec(&self, arguments: ExecArguments) -> Call<ExecResult> {
        let agent = self.agent.clone();
        call(async move { Ok(exec(&agent, arguments).await?.1) })
    }

    /// Runs a script with `sh` to its end.
    #[must_use]
    pub fn run_script(&self, script: String, signal: Option<AbortSignal>) -> Call<ExecResult> {
        let agent = self.agent.clone();
        call(async move { run_script(&agent, script, signal).await })
    }

    /// The same, for a script that leaves nothing behind: its exec is deleted at the end.
    #[must_use]
    pub fn run_script_and_forget(
        &self,
        script: String,
        signal: Option<AbortSignal>,
    ) -> Call<ExecResult> {
        let agent = self.agent.clone();
        call(async move { run_script_and_forget(&agent, script, signal).await })
    }

    /// Follows an exec that exists to its end.
    #[must_use]
    pub fn wait(&self, id: ExecId, options: WaitOptions) -> Call<ExecResult> {
        let agent = self.agent.clone();
        call(async move { wait(&agent, id, options).await })
    }

    /// Stops an exec's process group and waits until it is gone.
    #[must_use]
    pub fn terminate(&self, id: ExecId, options: TerminateOptions) -> Call<Terminated> {
        let agent = self.agent.clone();
        call(async move { terminate(&agent, &id, options).await })
    }

    /// Sends a signal to an exec's whole process group.
    #[must_use]
    pub fn kill(&self, id: ExecId, signal: String) -> Call<()> {
        let agent = self.agent.clone();
        call(async move { kill(&agent, &id, &signal).await })
    }

    /// Writes to a running exec's standard input, or sets the size of its terminal.
    #[must_use]
    pub fn send_stdin(&self, id: ExecId, body: ExecStdin) -> Call<ExecItem> {
        let agent = self.agent.clone();
        call(async move { send_stdin(&agent, &id, &body).await })
    }

    /// What there is now of an exec's output after `last_sequence`.
    #[must_use]
    pub fn get_output(&self, id: ExecId, last_sequence: i64) -> Call<ExecResult> {
        let agent = self.agent.clone();
        call(async move { get_output(&agent, &id, last_sequence).await })
    }

    /// The events of an exec's output after `last_sequence`, up to the one with the exit code.
    #[must_use]
    pub fn stream_output(&self, id: ExecId, last_sequence: i64) -> OutputReader {
        OutputReader::new(self.agent.child(), id, last_sequence)
    }

    /// The list of all execs, now and after every change.
    #[must_use]
    pub fn stream_list(&self) -> ListStream {
        ListStream::new(self.agent.child())
    }
}
