//! What the simulation has found once, each as a scenario of its own; here those of single requests.

mod input;
mod ports;
mod session;
mod stop;
mod streams;

use sandpipe_client::Error;
use sandpipe_client::execs::{ExecArguments, WaitOptions, delete, exec, get_output};

use super::input::Pieces;
use super::{COMMAND, arguments, call_later, run_command};
use crate::agent::program::{OnTerm, Program, Step};
use crate::faults::{Budget, Fault};
use crate::setup::{Parts, Setup};
use crate::world::World;

/// A gateway's answer to a request that it does not forward.
const NOT_FOUND: Fault =
    Fault::Status { status: 404, retry_after: None, acted: false, is_agents: false };

/// The same, which says that the agent is away.
const BAD_GATEWAY: Fault =
    Fault::Status { status: 502, retry_after: None, acted: false, is_agents: false };

/// A world in which these requests fail.
fn world_with(faults: fn(&str, u32) -> Option<Fault>) -> World {
    let setup = Setup { budget: Budget::Written(faults), ..Setup::calm() };
    World::new(setup, Parts::default(), false)
}

/// A world whose host holds short texts only.
fn world_with_short_texts() -> World {
    World::new(Setup { max_text_length: 8, ..Setup::calm() }, Parts::default(), false)
}

/// A program that writes a line and goes on for an hour.
fn long(on_term: OnTerm) -> Program {
    let mut program = Program { on_term, ..Program::write("a long line\n", 0) };
    program.steps.push(Step::Pause(3_600_000.0));
    program
}

#[test]
fn get_output_fails_where_the_rest_of_the_answer_never_comes() {
    let world = world_with(|request, _| {
        let stall = Fault::Stall { after: 4, ms: f64::INFINITY };
        request.ends_with("/io").then_some(stall)
    });
    let mut random = fastrand::Rng::with_seed(1);
    let program = Program::write("hello\n", 0);
    let call = |client, id| get_output(&client, id, 0);
    let (_, result) = call_later(&world, program, &mut random, call).expect("it ends");
    result.expect_err("it does not have all of it");
}

#[test]
fn exec_goes_on_where_a_gateway_answers_for_the_first_stream() {
    let world = world_with(|request, nth| {
        let is_first_stream = request.contains("/stream/") && nth == 1;
        (request.ends_with("/health") || is_first_stream).then_some(Fault::Page)
    });
    world.agent.install(COMMAND, Program::write("hello\n", 3));
    let outcome = run_command(&world, arguments(WaitOptions::default())).expect("it ends");
    assert_eq!(outcome.expect("an exit code"), (3, "hello\n".to_owned()));
}

#[test]
fn exec_goes_on_where_no_more_than_the_head_of_a_page_about_the_extensions_comes() {
    let world = world_with(|request, _| request.ends_with("/health").then_some(Fault::StalledPage));
    world.agent.install(COMMAND, Program::write("hello\n", 3));
    let outcome = run_command(&world, arguments(WaitOptions::default())).expect("it ends");
    assert_eq!(outcome.expect("an exit code"), (3, "hello\n".to_owned()));
}

#[test]
fn a_gateway_that_knows_no_health_does_not_say_that_the_agent_has_no_extensions() {
    let world =
        world_with(|request, nth| (request.ends_with("/health") && nth == 1).then_some(NOT_FOUND));
    world.agent.install(COMMAND, Program::write("hello\n", 3));
    let client = world.client();
    let run = || {
        let input = Some(Pieces::new(&[], false).with_eof());
        let call = exec(&client, ExecArguments { input, ..arguments(WaitOptions::default()) });
        world.run(call).expect("it ends")
    };
    let error = run().expect_err("it can't close standard input");
    assert!(matches!(*error, Error::Unsupported { .. }), "{error}");
    run().expect("the gateway is gone");
}

#[test]
fn a_gateway_that_knows_no_exec_does_not_say_that_it_was_deleted() {
    let mut random = fastrand::Rng::with_seed(1);
    let world = world_with(|request, nth| match nth {
        1 => request.ends_with("exec-000001").then_some(Fault::Lost { acted: false }),
        _ => request.ends_with("exec-000001").then_some(NOT_FOUND),
    });
    let (program, call) = (long(OnTerm::Die), |client, id| delete(&client, &id));
    let (exec, deleted) = call_later(&world, program, &mut random, call).expect("it ends");
    assert_eq!(deleted.expect_err("it is still there").status(), Some(404));
    assert!(!exec.state().is_deleted);
}

#[test]
fn a_create_that_a_gateway_answers_is_not_made_again_where_it_could_run_twice() {
    fn answer_create<const STATUS: u16>(request: &str, nth: u32) -> Option<Fault> {
        let fault =
            Fault::Status { status: STATUS, retry_after: None, acted: true, is_agents: false };
        (request.contains(COMMAND) && nth == 1).then_some(fault)
    }
    let all: [fn(&str, u32) -> Option<Fault>; 5] = [
        answer_create::<408>,
        answer_create::<500>,
        answer_create::<502>,
        answer_create::<503>,
        answer_create::<504>,
    ];
    for answer in all {
        let mut setup = Setup { budget: Budget::Written(answer), ..Setup::calm() };
        setup.features.remove("idempotency-key");
        let world = World::new(setup, Parts::default(), false);
        world.agent.install(COMMAND, Program::exit(0));
        let outcome = run_command(&world, arguments(WaitOptions::default())).expect("it ends");
        let error = outcome.expect_err("nobody knows whether it runs");
        assert!(matches!(*error, Error::CreateUnknown { .. }), "{error}");
        assert_eq!(world.agent.execs_of(COMMAND).len(), 1);
    }
}

#[test]
fn a_create_that_the_agent_refuses_for_now_is_not_said_to_be_unknown() {
    fn refuse_create<const STATUS: u16>(request: &str, _: u32) -> Option<Fault> {
        let fault =
            Fault::Status { status: STATUS, retry_after: None, acted: false, is_agents: true };
        request.contains(COMMAND).then_some(fault)
    }
    let all: [fn(&str, u32) -> Option<Fault>; 3] =
        [refuse_create::<429>, refuse_create::<500>, refuse_create::<503>];
    for refuse in all {
        let world = world_with(refuse);
        world.agent.install(COMMAND, Program::exit(0));
        let outcome = run_command(&world, arguments(WaitOptions::default())).expect("it ends");
        let error = outcome.expect_err("the agent refuses it");
        assert!(matches!(*error, Error::Http { .. }), "{error}");
    }
}

/// A gateway that lets no stream through.
fn refuse_streams(request: &str, _: u32) -> Option<Fault> {
    request.contains("/stream/").then_some(BAD_GATEWAY)
}
