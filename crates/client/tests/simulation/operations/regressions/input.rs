//! Input that an agent without `stdin-bytes` can't take, and input that may have arrived.

use futures_util::future::join;
use sandpipe_client::Error;
use sandpipe_client::error::StopReason;
use sandpipe_client::execs::{ExecArguments, WaitOptions, exec};
use sandpipe_client::terminal::Terminal;
use sandpipe_protocol::ExecStdout;

use super::world_with;
use crate::agent::program::{END_MARK, Program, Step};
use crate::faults::{Budget, Fault};
use crate::operations::input::Pieces;
use crate::operations::{COMMAND, arguments, call_later};
use crate::setup::{Parts, Setup};
use crate::world::World;

/// Runs a command that reads this, with an agent that takes text alone.
fn run(input: Pieces) -> (World, Box<Error>) {
    let mut setup = Setup::calm();
    setup.features.remove("stdin-bytes");
    run_in(setup, input)
}

fn run_in(setup: Setup, input: Pieces) -> (World, Box<Error>) {
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
fn input_that_may_have_arrived_is_not_sent_again() {
    fn lose_answer(request: &str, _: u32) -> Option<Fault> {
        request.contains("one").then_some(Fault::Lost { acted: true })
    }
    for takes_bytes in [true, false] {
        let mut setup = Setup { budget: Budget::Written(lose_answer), ..Setup::calm() };
        if !takes_bytes {
            setup.features.remove("stdin-bytes");
        }
        let (world, error) = run_in(setup, Pieces::new(&[b"one\n", b"two\n"], true));
        assert!(matches!(*error, Error::Stopped(_)), "{error}");
        assert_eq!(world.agent.execs_of(COMMAND)[0].state().read, "one\n");
    }
}

#[test]
fn what_is_typed_is_not_sent_again_where_the_websocket_breaks_before_the_answer() {
    // Of each WebSocket one frame more gets through.
    let world = world_with(|request, nth| {
        let is_socket = request.is_empty();
        is_socket.then_some(Fault::Cut { after: nth as usize, is_clean: false })
    });
    let texts: Vec<String> = (1..10).map(|number| format!("<typed {number}>")).collect();
    let (typed, executor) = (texts.clone(), world.executor.clone());
    let call = async move |client, id| {
        let terminal = Terminal::attach(&client, id).await.expect("a terminal");
        let (mut output, mut events) = (terminal.output(), Vec::<ExecStdout>::new());
        let reading = async { while output.read_into(&mut events).await.expect("events") {} };
        let typing = async {
            for text in typed {
                // There is another WebSocket by then.
                executor.sleep(1_000.0).await;
                // Whether it has arrived is not known where the WebSocket breaks.
                terminal.write(text).await.unwrap_or_default();
            }
            while terminal.write(END_MARK.to_string()).await.is_err() {}
        };
        join(reading, typing).await;
    };
    let mut program = Program::exit(0);
    program.steps.push(Step::CopyToMark);
    let mut random = fastrand::Rng::with_seed(1);
    let (exec, ()) = call_later(&world, program, &mut random, call).expect("it ends");
    let read = exec.state().read.clone();
    for text in texts {
        assert!(read.matches(&text).count() <= 1, "{text} comes again: {read}");
    }
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
