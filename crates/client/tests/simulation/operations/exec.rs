//! `exec` and `wait`: a command is followed to its end.

use sandpipe_client::execs::{ExecArguments, WaitOptions, wait};
use sandpipe_protocol::CreateExecRequest;

use super::input::Pieces;
use super::listener::Heard;
use super::{COMMAND, call_later, command, outcome, run_command};
use crate::agent::program::Step;
use crate::invariants::{ensure, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

#[test]
fn exec_returns_the_exit_code_and_all_output() {
    check("exec", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        run(world, None, random)
    });
}

#[test]
fn exec_feeds_all_input_to_a_command_that_reads_it() {
    check("exec_with_input", |world, random| {
        let mut program = world.program(random);
        program.steps.insert(random.usize(..=program.steps.len()), Step::Copy);
        world.agent.install(COMMAND, program);
        let lines = (0..random.usize(..20)).filter(|_| world.parts.keeps_next());
        let input: String = lines.map(|line| line.to_string() + " é€😀\n").collect();
        run(world, Some(input.clone()), random)?;
        // It is fed to its end also where the output can't be returned, and the command may read it late.
        world.run(world.executor.sleep(1_000_000.0))?;
        for exec in world.agent.execs_of(COMMAND) {
            let read = &exec.state().read;
            ensure!(input.starts_with(read), "it has read {read:?} of {input:?}");
            let (has_ended, output) = (exec.state().has_ended(), exec.output());
            let is_whole = !has_ended || output.contains(&input);
            ensure!(is_whole || !world.setup.is_survivable(), "{input:?} in {output:?}");
        }
        Ok(())
    });
}

fn run(world: &World, input: Option<String>, random: &mut fastrand::Rng) -> Verdict {
    world.may_forget(COMMAND, random);
    let heard = Heard::of(world, random);
    let request = CreateExecRequest { interactive: Some(input.is_some()), ..command() };
    let options = WaitOptions { listener: Some(heard.listener()), ..WaitOptions::default() };
    let input = input.map(|input| Pieces::cut(input.as_bytes(), random).with_eof());
    let arguments = ExecArguments { request, input, options };
    let outcome = run_command(world, arguments)?;
    let execs = world.agent.execs_of(COMMAND);
    runs_once(&execs)?;
    if heard.has_decided(execs.first().map(|exec| &**exec), &outcome)? {
        return Ok(());
    }
    outcome_is_true(world, &execs, &outcome, true, false)
}

#[test]
fn wait_returns_the_exit_code_and_all_output_of_a_command_that_was_started_before() {
    check("wait", |world, random| {
        let program = world.program(random);
        let heard = Heard::of(world, random);
        let options = WaitOptions { listener: Some(heard.listener()), ..WaitOptions::default() };
        let (exec, result) =
            call_later(world, program, random, |client, id| wait(&client, id, options))?;
        let outcome = outcome(result);
        if heard.has_decided(Some(&exec), &outcome)? {
            return Ok(());
        }
        outcome_is_true(world, &[exec], &outcome, false, false)
    });
}
