//! `exec`: a command is run to its end.

use sandpipe_client::execs::exec::ExecArguments;
use sandpipe_client::execs::exec::exec;
use sandpipe_client::execs::feed_stdin::Input;
use sandpipe_client::execs::wait_options::WaitOptions;
use sandpipe_protocol::CreateExecRequest;

use super::{COMMAND, command, told};
use crate::agent::exec::State;
use crate::agent::program::{Program, Step};
use crate::invariants::{ensure, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

#[test]
fn gives_the_exit_code_and_all_output() {
    check("exec", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        run(world, None)
    });
}

#[test]
fn feeds_all_input_to_a_command_that_reads_it() {
    check("exec_with_input", |world, random| {
        let mut program = Program::of(random);
        program.steps.insert(random.usize(..=program.steps.len()), Step::Copy);
        world.agent.install(COMMAND, program);
        let input: String = (0..random.usize(..20))
            .map(|line| ["line ", &line.to_string(), "\n"].concat())
            .collect();
        run(world, Some(input.clone()))?;
        for exec in world.agent.execs_of(COMMAND) {
            let (has_ended, output) = (exec.look(State::has_ended), exec.output());
            let is_whole = output.contains(&input);
            ensure!(!has_ended || is_whole || !world.is_survivable(), "{input:?} in {output:?}");
        }
        Ok(())
    });
}

fn run(world: &World, input: Option<String>) -> Verdict {
    let request = CreateExecRequest {
        autostart: Some(true),
        interactive: Some(input.is_some()),
        ..command()
    };
    let options = WaitOptions::default();
    let arguments = ExecArguments { request, input: input.map(Input::WithEof), options };
    let client = world.client();
    let told =
        world.run(async move { told(exec(&client, arguments).await.map(|(_, result)| result)) })?;
    let execs = world.agent.execs_of(COMMAND);
    runs_once(&execs)?;
    outcome_is_true(world, &execs, &told, true, false)
}
