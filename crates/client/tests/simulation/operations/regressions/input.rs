//! Input that an agent without `stdin-bytes` can't take.

use sandpipe_client::Error;
use sandpipe_client::error::StopReason;
use sandpipe_client::execs::{ExecArguments, WaitOptions, exec};

use crate::agent::program::{Program, Step};
use crate::operations::input::Pieces;
use crate::operations::{COMMAND, arguments};
use crate::setup::{Parts, Setup};
use crate::world::World;

/// Runs a command that reads this, with an agent that takes text alone.
fn run(input: Pieces) -> (World, Box<Error>) {
    let mut setup = Setup::calm();
    setup.features.remove("stdin-bytes");
    let world = World::new(setup, Parts::default(), false);
    let mut program = Program::exit(0);
    program.steps.push(Step::Copy);
    world.agent.install(COMMAND, program);
    let input = Some(input.with_eof());
    let call = exec(&world.client(), ExecArguments { input, ..arguments(WaitOptions::default()) });
    let error = world.run(call).expect("it ends").expect_err("it can't be sent");
    (world, error)
}

#[test]
fn what_is_seen_to_be_no_text_is_refused_before_the_command_runs() {
    let (world, error) = run(Pieces::new(&[b"one\n", b"\xFF"], false));
    assert!(matches!(*error, Error::Unsupported { feature: "stdin-bytes", .. }), "{error}");
    assert!(world.agent.execs_of(COMMAND).is_empty());
}

#[test]
fn a_stream_that_turns_out_to_be_no_text_stops_the_command() {
    let (world, error) = run(Pieces::new(&[b"one\n", b"\xFF"], true));
    let Error::Stopped(stopped) = *error else {
        panic!("it is not stopped: {error}");
    };
    let StopReason::InputLost { error } = stopped.why else {
        panic!("it is stopped for another reason");
    };
    assert!(matches!(*error, Error::Unsupported { feature: "stdin-bytes", .. }), "{error}");
    assert_eq!(world.agent.execs_of(COMMAND)[0].output(), "one\n");
}
