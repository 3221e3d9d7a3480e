//! What the simulation has found once, each as a scenario of its own.

use std::pin::pin;

use futures_util::future::{Either, join_all, select};
use sandpipe_client::Error;
use sandpipe_client::error::{NotStopped, OutputLimit, StopReason, Stopped};
use sandpipe_client::execs::{
    ExecArguments, Input, ListStream, TerminateOptions, TerminateResult, WaitOptions, delete, exec,
    get_output, terminate, wait,
};
use sandpipe_client::sessions::{SessionOptions, Sessions};
use sandpipe_client::terminal::Terminal;
use sandpipe_protocol::{ExecStatus, ExecStdout, OutputType};

use super::stop::Plan;
use super::{COMMAND, arguments, call_later, outcome, run_command};
use crate::agent::program::{OnTerm, Other, Program, Step};
use crate::agent::shell::SHELL;
use crate::faults::{Budget, Fault, Kind};
use crate::invariants::Outcome;
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

fn session_of(world: &World) -> (Sessions, SessionOptions) {
    let options = SessionOptions { shell: SHELL.to_owned(), ..SessionOptions::default() };
    (Sessions::new(world.client()), options)
}

/// A program that writes a line and goes on for an hour.
fn long(on_term: OnTerm) -> Program {
    let mut program = Program { on_term, ..Program::write("a long line\n", 0) };
    program.steps.push(Step::Pause(3_600_000.0));
    program
}

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
        let input = Some(Input::WithEof(String::new()));
        let call = exec(&client, ExecArguments { input, ..arguments(WaitOptions::default()) });
        world.run(call).expect("it ends")
    };
    let error = run().expect_err("it can't close standard input");
    assert!(matches!(*error, Error::Unsupported { .. }), "{error}");
    run().expect("the gateway is gone");
}

#[test]
fn a_gateway_that_knows_no_signal_does_not_say_that_the_command_has_ended() {
    let world = world_with(|request, _| request.contains("TERM").then_some(NOT_FOUND));
    interrupt(&world, OnTerm::Die);
    assert_eq!(world.agent.execs_of(COMMAND)[0].times_of("KILL").len(), 1);
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
fn a_gateway_that_knows_no_shell_does_not_say_that_its_session_is_closed() {
    let world = world_with(|request, _| {
        let is_of_close = request.contains("/signal") || request.ends_with("exec-000001");
        is_of_close.then_some(NOT_FOUND)
    });
    let (sessions, options) = session_of(&world);
    let closed = world.run(async move { sessions.create(options).await?.close().await });
    assert_eq!(closed.expect("it ends").expect_err("its shell runs").status(), Some(404));
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
fn callers_that_close_a_session_at_once_and_again_share_both_attempts() {
    let requests_of = |callers| {
        let world = world_with(|request, _| request.ends_with("exec-000001").then_some(NOT_FOUND));
        let (sessions, options) = session_of(&world);
        let closing = world.run(async move {
            let session = sessions.create(options).await.expect("a session");
            let close_twice = async || [session.close().await, session.close().await];
            join_all((0..callers).map(|_| close_twice())).await
        });
        assert!(closing.expect("it ends").into_iter().flatten().all(|closed| closed.is_err()));
        world.network.requests()
    };
    assert_eq!(requests_of(2), requests_of(1));
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
fn a_session_fails_where_the_host_can_not_hold_the_output_of_a_script() {
    let world = world_with_short_texts();
    world.agent.install("script", Program::write("a long line\n", 0));
    let (sessions, options) = session_of(&world);
    let result = world.run(async move {
        let session = sessions.create(options).await?;
        session.run("script".to_owned(), WaitOptions::default()).await
    });
    let error = result.expect("it ends").expect_err("its output is too long");
    assert!(matches!(*error, Error::OutputLimit { limit: OutputLimit::String(8), .. }), "{error}");
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
fn a_gateway_that_knows_no_shell_does_not_say_that_the_agent_has_forgotten_it() {
    let world = world_with(|request, nth| match nth {
        // The first stream is that of the session's beginning.
        2 if request.contains("/stream/") => Some(Fault::EndEmpty),
        3.. if request.contains("/stream/") => Some(NOT_FOUND),
        _ => request.ends_with("exec-000001").then_some(NOT_FOUND),
    });
    world.agent.install("script", long(OnTerm::Die));
    let [lost, next] = run_both(&world, ["script".to_owned(), "script".to_owned()]);
    let error = lost.expect_err("its output is lost");
    assert!(matches!(*error, Error::ExitCodeMissing { .. }), "{error}");
    let error = next.expect_err("the session is over");
    assert!(!error.to_string().contains("does not know its shell"), "{error}");
}

#[test]
fn a_script_that_was_never_sent_leaves_the_session_as_it_is_however_long_it_is() {
    for length in [0, 2_000_000] {
        let world = world_with(|request, _| request.contains("unsent").then_some(Fault::Refused));
        world.agent.install("script", Program::write("hello\n", 3));
        let script = "unsent".to_owned() + &"x".repeat(length);
        let [unsent, next] = run_both(&world, [script, "script".to_owned()]);
        assert!(unsent.expect_err("it was not sent").is_never_sent());
        assert_eq!(next.expect("an exit code"), (3, "hello\n".to_owned()));
    }
}

#[test]
fn a_script_of_which_a_part_was_sent_ends_the_session_and_nothing_of_it_runs() {
    let world = world_with(|request, _| request.contains("the rest").then_some(Fault::Refused));
    world.agent.install("script", Program::write("hello\n", 3));
    let script = "x".repeat(2_000_000) + "the rest";
    let [sent, next] = run_both(&world, [script, "script".to_owned()]);
    let error = sent.expect_err("it was not sent to its end");
    let is_lost = matches!(&*error, Error::Stopped(stopped)
        if matches!(stopped.why, StopReason::InputLost { .. }));
    assert!(is_lost, "{error}");
    let error = next.expect_err("the session is over");
    assert!(matches!(*error, Error::Session { .. }), "{error}");
    let shell = world.agent.execs_of(SHELL).remove(0);
    assert!(shell.state().is_deleted && shell.state().scripts.is_empty());
}

/// Runs two scripts in a session.
fn run_both(world: &World, scripts: [String; 2]) -> [Outcome; 2] {
    let (sessions, options) = session_of(world);
    let outcomes = world.run(async move {
        let session = sessions.create(options).await.expect("a session");
        let runs = scripts.map(|script| session.run(script, WaitOptions::default()));
        let [first, second] = runs;
        [first.await, second.await]
    });
    outcomes.expect("it ends").map(outcome)
}

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

/// A gateway that lets no stream through.
fn refuse_streams(request: &str, _: u32) -> Option<Fault> {
    request.contains("/stream/").then_some(BAD_GATEWAY)
}

#[test]
fn terminate_has_the_exit_code_where_no_stream_can_be_had() {
    let terminated = terminate_stubborn(&world_with(refuse_streams)).expect("it is gone");
    assert_eq!(terminated, TerminateResult { exit_code: 137, forced: true });
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
fn a_list_is_asked_for_after_pauses_where_every_stream_ends_at_once() {
    let world = world_with(|request, _| request.contains("/stream/").then_some(Fault::EndEmpty));
    let mut list = ListStream::new(world.client());
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
fn a_silent_script_is_followed_where_every_stream_ends_soon() {
    let setup = Setup { stream_ms: Some(5.0), ..Setup::calm() };
    let world = World::new(setup, Parts::default(), false);
    let mut program = Program::write("hello\n", 3);
    program.steps.insert(0, Step::Pause(3_600_000.0));
    world.agent.install("script", program);
    let (sessions, options) = session_of(&world);
    let result = world.run(async move {
        let session = sessions.create(options).await?;
        session.run("script".to_owned(), WaitOptions::default()).await
    });
    let result = outcome(result.expect("it ends"));
    assert_eq!(result.expect("an exit code"), (3, "hello\n".to_owned()));
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
