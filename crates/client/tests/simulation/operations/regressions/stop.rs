//! Stops that did not work, or were said not to have.

use sandpipe_client::Error;
use sandpipe_client::error::{NotStopped, Stopped};
use sandpipe_client::execs::{TerminateOptions, TerminateResult, exec, terminate};

use super::{BAD_GATEWAY, NOT_FOUND, long, refuse_streams, world_with, world_with_short_texts};
use crate::agent::program::{OnTerm, Other, Step};
use crate::faults::{Budget, Fault};
use crate::operations::stop::Plan;
use crate::operations::{COMMAND, arguments, call_later};
use crate::setup::{Parts, Setup};
use crate::world::World;

/// Runs the command, which is interrupted after a second.
fn interrupt(world: &World, on_term: OnTerm) -> Stopped {
    world.agent.install(COMMAND, long(on_term));
    let (force_ms, timeout_ms, max_output_bytes) = Default::default();
    let interrupt_ms = Some(1_000.0);
    let plan = Plan { interrupt_ms, force_ms, timeout_ms, grace_ms: 1_000.0, max_output_bytes };
    let call = exec(&world.client(), arguments(plan.options(world)));
    match *world.run(call).expect("it ends").expect_err("it is stopped") {
        Error::Stopped(stopped) => stopped,
        error => panic!("{error}"),
    }
}

/// Terminates a command that ignores SIGTERM.
fn terminate_stubborn(world: &World) -> Result<TerminateResult, Box<Error>> {
    let options = TerminateOptions { grace_ms: 1_000.0, force_signal: None };
    let mut random = fastrand::Rng::with_seed(1);
    let (program, call) = (long(OnTerm::Ignore), |client, id| terminate(&client, id, options));
    call_later(world, program, &mut random, call).expect("it ends").1
}

#[test]
fn a_gateway_that_knows_no_signal_does_not_say_that_the_command_has_ended() {
    let world = world_with(|request, _| request.contains("TERM").then_some(NOT_FOUND));
    interrupt(&world, OnTerm::Die);
    assert_eq!(world.agent.execs_of(COMMAND)[0].times_of("KILL").len(), 1);
}

#[test]
fn sigterm_is_sent_once_where_its_answer_is_lost() {
    let world = world_with(|request, nth| {
        (request.contains("TERM") && nth == 1).then_some(Fault::Lost { acted: true })
    });
    interrupt(&world, OnTerm::Ignore);
    assert_eq!(world.agent.execs_of(COMMAND)[0].times_of("TERM").len(), 1);
}

#[test]
fn a_child_that_ignores_sigterm_is_killed_where_the_leader_dies_of_it() {
    let world = World::new(Setup::calm(), Parts::default(), false);
    let mut program = long(OnTerm::Die);
    program.steps.insert(0, Step::Fork(Other { lives_ms: f64::INFINITY, ignores_term: true }));
    let options = TerminateOptions { grace_ms: 1_000.0, force_signal: None };
    let mut random = fastrand::Rng::with_seed(1);
    let call = |client, id| terminate(&client, id, options);
    let (exec, terminated) = call_later(&world, program, &mut random, call).expect("it ends");
    assert_eq!(terminated.expect("it is gone"), TerminateResult { exit_code: 143, forced: true });
    assert!(!exec.state().has_processes(world.executor.now_ms()));
}

#[test]
fn one_look_at_a_group_that_has_no_answer_does_not_hide_that_the_group_is_gone() {
    let world = world_with(|request, nth| is_look(request, nth % 3 > 0));
    assert!(terminate_stubborn(&world).expect("it is gone").forced);
}

#[test]
fn a_group_that_sigkill_has_ended_is_gone_when_sigkill_is_sent_again() {
    let world = world_with(|request, nth| {
        let is_lost = request.contains("KILL") && nth == 1;
        is_lost.then_some(Fault::Lost { acted: true }).or_else(|| is_look(request, true))
    });
    assert!(terminate_stubborn(&world).expect("it is gone").forced);
}

#[test]
fn a_group_that_nobody_has_seen_is_not_said_to_be_still_there() {
    let world = world_with(|request, _| is_look(request, true));
    let stopped = interrupt(&world, OnTerm::Ignore);
    assert!(matches!(stopped.unstopped, Some(NotStopped::Undelivered(_))), "{stopped:?}");
}

/// Looks at a group that are answered after 44 s, if they are.
fn is_look(request: &str, is_late: bool) -> Option<Fault> {
    (request.contains(r#""0""#) && is_late).then_some(Fault::Late(44_000.0))
}

#[test]
fn a_stop_needs_no_other_answer_than_that_to_the_signal() {
    let world = world_with(do_not_answer_for_exec);
    let stopped = interrupt(&world, OnTerm::Ignore);
    assert!(stopped.forced && stopped.unstopped.is_none(), "{stopped:?}");
    let now_ms = world.executor.now_ms();
    assert!(now_ms < 3_000.0, "it took {now_ms} ms");
}

#[test]
fn a_stop_by_kill_that_does_not_learn_the_group_says_that_sigkill_was_not_confirmed() {
    let budget = Budget::Written(do_not_answer_for_exec);
    let mut setup = Setup { budget, ..Setup::calm() };
    setup.features.remove("signal");
    let stopped = interrupt(&World::new(setup, Parts::default(), false), OnTerm::Die);
    let Some(NotStopped::Undelivered(error)) = stopped.unstopped else {
        panic!("nobody knows that it is gone");
    };
    assert!(error.to_string().contains("SIGKILL was not confirmed within 10 s"), "{error}");
}

#[test]
fn a_kill_by_another_exec_that_a_gateway_answers_is_made_again() {
    let budget = Budget::Written(|request, nth| {
        (request.contains("\"KILL\"") && nth <= 2).then_some(BAD_GATEWAY)
    });
    let mut setup = Setup { budget, ..Setup::calm() };
    setup.features.remove("signal");
    setup.features.remove("idempotency-key");
    let stopped = interrupt(&World::new(setup, Parts::default(), false), OnTerm::Ignore);
    assert!(stopped.forced && stopped.unstopped.is_none(), "{stopped:?}");
}

/// No question for the exec is answered.
fn do_not_answer_for_exec(request: &str, _: u32) -> Option<Fault> {
    request.ends_with("exec-000001").then_some(Fault::Late(1e9))
}

#[test]
fn a_stop_says_that_output_is_missing_which_the_host_can_not_hold() {
    let stopped = interrupt(&world_with_short_texts(), OnTerm::Die);
    assert!(matches!(stopped.incomplete.as_deref(), Some(Error::OutputLimit { .. })));
}

#[test]
fn terminate_has_the_exit_code_where_no_stream_can_be_had() {
    let terminated = terminate_stubborn(&world_with(refuse_streams)).expect("it is gone");
    assert_eq!(terminated, TerminateResult { exit_code: 137, forced: true });
}
