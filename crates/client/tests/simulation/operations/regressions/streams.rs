//! Outputs and lists that were given up, or asked for too often.

use std::pin::pin;

use futures_util::future::{Either, select};
use sandpipe_client::Error;
use sandpipe_client::execs::{ListStream, WaitOptions, wait};
use sandpipe_client::terminal::Terminal;
use sandpipe_protocol::{ExecStatus, ExecStdout, OutputType};

use super::{BAD_GATEWAY, NOT_FOUND, long, refuse_streams, world_with};
use crate::agent::program::{OnTerm, Program, Step};
use crate::faults::{Budget, Fault, Kind};
use crate::operations::{COMMAND, call_later, outcome};
use crate::setup::{Parts, Setup};
use crate::world::World;

#[test]
fn a_snapshot_has_the_output_where_no_stream_brings_anything() {
    let end_all: fn(&str, u32) -> Option<Fault> = |request, _| {
        request.contains("/stream/").then_some(Fault::Cut { after: 0, is_clean: true })
    };
    let break_all: fn(&str, u32) -> Option<Fault> = |request, _| {
        request.contains("/stream/").then_some(Fault::Cut { after: 0, is_clean: false })
    };
    for faults in [end_all, break_all, refuse_streams] {
        let mut random = fastrand::Rng::with_seed(1);
        let call = |client, id| wait(&client, id, WaitOptions::default());
        let program = Program::write("hello\n", 3);
        let (_, result) =
            call_later(&world_with(faults), program, &mut random, call).expect("it ends");
        assert_eq!(outcome(result).expect("an exit code"), (3, "hello\n".to_owned()));
    }
}

#[test]
fn an_output_that_can_not_be_read_is_given_up_after_some_attempts() {
    let world = world_with(|request, _| request.ends_with("/io").then_some(BAD_GATEWAY));
    let mut random = fastrand::Rng::with_seed(1);
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (_, result) = call_later(&world, Program::exit(0), &mut random, call).expect("it ends");
    let error = outcome(result).expect_err("no output can be had");
    assert!(matches!(*error, Error::ExitCodeMissing { .. }), "{error}");
    let drawn = world.network.faults.drawn();
    let streams = drawn.iter().filter(|drawn| drawn.kind == Kind::StreamOutput).count();
    assert_eq!(streams, 4, "once, and three times more");
}

#[test]
fn a_page_is_no_answer_to_what_became_of_a_command() {
    // Streams end, and a gateway answers what became of the command: now and then, and at last always.
    let world = world_with(|request, nth| match nth {
        _ if request.contains("/stream/") => Some(Fault::EndEmpty),
        _ if !request.ends_with("exec-000001") => None,
        1..12 if nth % 3 == 0 => None,
        _ => Some([Fault::Page, NOT_FOUND, BAD_GATEWAY][nth as usize % 3]),
    });
    let mut random = fastrand::Rng::with_seed(1);
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (exec, result) = call_later(&world, long(OnTerm::Die), &mut random, call).expect("it ends");
    let error = outcome(result).expect_err("nobody says that it runs");
    assert!(matches!(*error, Error::ExitCodeMissing { .. }), "{error}");
    assert!(!exec.state().has_ended());
    let drawn = world.network.faults.drawn();
    assert_eq!(drawn.iter().filter(|drawn| drawn.kind == Kind::Get).count(), 10);
}

#[test]
fn a_silent_command_is_followed_where_every_stream_ends_at_once() {
    let world = world_with(|request, _| request.contains("/stream/").then_some(Fault::EndEmpty));
    let mut random = fastrand::Rng::with_seed(1);
    let mut program = Program::write("hello\n", 3);
    program.steps.insert(0, Step::Pause(3_600_000.0));
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    assert_eq!(outcome(result).expect("an exit code"), (3, "hello\n".to_owned()));
    // Two every 15 s to 30 s.
    let requests = world.network.requests();
    assert!(requests < 600, "{requests} requests in an hour");
}

#[test]
fn streams_without_events_are_counted_only_where_no_other_comes_between() {
    fn end_streams(request: &str, nth: u32) -> Option<Fault> {
        let empty = Fault::Cut { after: 0, is_clean: true };
        let fault = if nth.is_multiple_of(2) { Fault::EndAfter(1) } else { empty };
        request.contains("/stream/").then_some(fault)
    }
    // Nothing that the agent says of it shows that it runs.
    let running = ExecStatus::Other("ACTIVE".to_owned());
    let setup = Setup { running, budget: Budget::Written(end_streams), ..Setup::calm() };
    let world = World::new(setup, Parts::default(), false);
    let write = || Step::Write(OutputType::Stdout, "hello\n".to_owned());
    let steps = (0..10).flat_map(|_| [Step::Pause(500.0), write()]).collect();
    let program = Program { steps, ..Program::exit(3) };
    let (mut random, output) = (fastrand::Rng::with_seed(1), program.output());
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    assert_eq!(outcome(result).expect("an exit code"), (3, output));
}

#[test]
fn streams_without_events_are_counted_anew_whenever_the_agent_says_that_the_command_runs() {
    let world = world_with(|request, _| request.contains("/stream/").then_some(Fault::EndEmpty));
    let mut program = Program::write("hello\n", 3);
    program.steps.insert(0, Step::Pause(3_600_000.0));
    // The pauses have grown by then: there are at most two streams in 30 s.
    for seconds in (600..3_500).step_by(90) {
        let active = ExecStatus::Other("ACTIVE".to_owned());
        for (later, status) in [(0, active), (30, ExecStatus::Running)] {
            let agent = world.agent.clone();
            world.after(f64::from(seconds + later) * 1_000.0, "another word", move || {
                for exec in agent.execs_of(COMMAND) {
                    exec.change(|state| state.status = status.clone());
                }
            });
        }
    }
    let mut random = fastrand::Rng::with_seed(1);
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    assert_eq!(outcome(result).expect("an exit code"), (3, "hello\n".to_owned()));
}

#[test]
fn a_list_is_asked_for_after_pauses_where_every_stream_ends_at_once() {
    let world = world_with(|request, _| request.contains("/stream/").then_some(Fault::EndEmpty));
    let mut list = ListStream::new(world.client(), None);
    let hour = world.executor.sleep(3_600_000.0);
    let failed = world.run(async move {
        let reading = async { while list.next_events().await.is_ok() {} };
        matches!(select(pin!(reading), hour).await, Either::Left(_))
    });
    assert!(!failed.expect("it ends"), "it goes on as long as the agent answers");
    let requests = world.network.requests();
    assert!(requests < 600, "{requests} requests in an hour");
}

#[test]
fn a_frame_that_is_no_text_is_an_error_and_no_output() {
    // A WebSocket has no body.
    let world = world_with(|request, _| request.is_empty().then_some(Fault::Page));
    let mut random = fastrand::Rng::with_seed(1);
    let call = async |client, id| {
        let terminal = Terminal::attach(&client, id).await?;
        terminal.output().read_into(&mut Vec::<ExecStdout>::new()).await
    };
    let program = Program::write("hello\n", 3);
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    let error = result.expect_err("a frame is no text");
    assert!(matches!(*error, Error::Protocol { .. }), "{error}");
}

#[test]
fn there_is_no_pause_after_a_stream_that_lasted() {
    let setup = Setup { stream_ms: Some(2_000.0), ..Setup::calm() };
    let mut program = Program::write("hello\n", 3);
    program.steps.insert(0, Step::Pause(3_600_000.0));
    is_known_at_once(&World::new(setup, Parts::default(), false), program);
}

#[test]
fn there_is_no_pause_after_a_stream_that_brought_something() {
    let world = world_with(|request, _| request.contains("/stream/").then_some(Fault::EndAfter(1)));
    let write = || Step::Write(OutputType::Stdout, "hello\n".to_owned());
    let steps = (0..50).flat_map(|_| [Step::Pause(100.0), write()]).collect();
    is_known_at_once(&world, Program { steps, ..Program::exit(3) });
}

/// Follows a command to its end, which is known soon.
fn is_known_at_once(world: &World, program: Program) {
    let mut random = fastrand::Rng::with_seed(1);
    let output = program.output();
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let (exec, result) = call_later(world, program, &mut random, call).expect("it ends");
    assert_eq!(outcome(result).expect("an exit code"), (3, output));
    let late_ms = world.executor.now_ms() - exec.state().ended_ms;
    assert!(late_ms < 100.0, "the end is known {late_ms} ms late");
}

#[test]
fn a_word_of_the_agent_s_own_is_no_proof_that_a_command_runs() {
    fn end_all_streams(request: &str, _: u32) -> Option<Fault> {
        request.contains("/stream/").then_some(Fault::Cut { after: 0, is_clean: true })
    }
    let running = ExecStatus::Other("ACTIVE".to_owned());
    let setup = Setup { running, budget: Budget::Written(end_all_streams), ..Setup::calm() };
    let world = World::new(setup, Parts::default(), false);
    let mut random = fastrand::Rng::with_seed(1);
    let call = |client, id| wait(&client, id, WaitOptions::default());
    let program = long(OnTerm::Die);
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    let error = outcome(result).expect_err("nobody knows that it runs");
    assert!(matches!(*error, Error::ExitCodeMissing { .. }), "{error}");
}
