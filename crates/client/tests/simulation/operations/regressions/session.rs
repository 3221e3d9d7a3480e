//! Sessions that ended, or went on, as they should not.

use futures_util::future::join_all;
use sandpipe_client::error::{OutputLimit, StopReason};
use sandpipe_client::execs::WaitOptions;
use sandpipe_client::sessions::{SessionOptions, Sessions};
use sandpipe_client::{AbortSignal, Error};

use super::{NOT_FOUND, long, world_with, world_with_short_texts};
use crate::agent::program::{OnTerm, Program, Step};
use crate::agent::shell::SHELL;
use crate::faults::Fault;
use crate::invariants::Outcome;
use crate::operations::outcome;
use crate::setup::{Parts, Setup};
use crate::world::World;

fn session_of(world: &World) -> (Sessions, SessionOptions) {
    let options = SessionOptions { shell: SHELL.to_owned(), ..SessionOptions::default() };
    (Sessions::new(world.client()), options)
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

#[test]
fn an_interrupt_comes_after_what_was_sent_before_it() {
    // The line that asks for the end of the script is overtaken by what is sent meanwhile.
    let world = world_with(|request, _| {
        let is_end = request.contains(":e0,") && !request.contains("PS1=");
        is_end.then_some(Fault::Delayed(1_000.0))
    });
    world.agent.install("long", long(OnTerm::Die));
    world.agent.install("script", Program::write("hello\n", 3));
    let signal = AbortSignal::default();
    let controller = signal.controller();
    world.after(200.0, "abort", move || controller.abort(None));
    let (sessions, options) = session_of(&world);
    let executor = world.executor.clone();
    let outcomes = world.run(async move {
        let session = sessions.create(options).await.expect("a session");
        let stops = WaitOptions { signal: Some(signal), ..WaitOptions::default() };
        let interrupted = session.run("long".to_owned(), stops).await;
        executor.sleep(2_000.0).await;
        [interrupted, session.run("script".to_owned(), WaitOptions::default()).await]
    });
    let [interrupted, next] = outcomes.expect("it ends").map(outcome);
    assert!(matches!(*interrupted.expect_err("it is stopped"), Error::Stopped(_)));
    assert_eq!(next.expect("an exit code"), (3, "hello\n".to_owned()));
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
