//! The client's calls. Each is a test of its own, so that they share the processors.

mod attach;
mod background;
mod close;
mod create;
mod exec;
mod files;
mod input;
mod listener;
mod output;
mod ports;
mod regressions;
mod session;
mod stop;
mod stream_list;
mod wait_for_output;
mod watch;

use std::rc::Rc;

use sandpipe_client::execs::{ExecArguments, WaitOptions, exec};
use sandpipe_client::output::ExecResult;
use sandpipe_client::{Agent, ExecId, Result};
use sandpipe_protocol::CreateExecRequest;

use crate::agent::exec::Exec;
use crate::agent::program::Program;
use crate::host::text_of;
use crate::invariants::Outcome;
use crate::world::World;

/// The command that is run.
const COMMAND: &str = "command";

/// The create of the command.
fn command() -> CreateExecRequest {
    CreateExecRequest { command: COMMAND.to_owned(), ..CreateExecRequest::default() }
}

/// The arguments of an exec of the command.
fn arguments(options: WaitOptions) -> ExecArguments {
    ExecArguments { request: command(), input: None, options }
}

/// Runs the command to its end, and has the result.
fn run_command(world: &World, arguments: ExecArguments) -> std::result::Result<Outcome, String> {
    let result = world.run(exec(&world.client(), arguments))?;
    Ok(outcome(result.map(|(_, result)| result)))
}

/// The result of a call that follows a command to its end.
fn outcome(result: Result<ExecResult>) -> Outcome {
    let ExecResult { exit_code, output, .. } = result?;
    Ok((exit_code, text_of(&output)))
}

/// Makes a call for a command that was started some time before.
fn call_later<T: 'static, F: Future<Output = T> + 'static>(
    world: &World,
    program: Program,
    random: &mut fastrand::Rng,
    call: impl FnOnce(Agent, ExecId) -> F + 'static,
) -> std::result::Result<(Rc<Exec>, T), String> {
    world.agent.install(COMMAND, program);
    let exec = world.agent.create(command());
    let id = ExecId::of(exec.item()).expect("an id");
    let (client, pause) = (world.client(), world.executor.sleep(random.f64() * 500.0));
    let result = world.run(async move {
        pause.await;
        call(client, id).await
    })?;
    Ok((exec, result))
}
