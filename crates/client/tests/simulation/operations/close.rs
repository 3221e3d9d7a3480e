//! A sandbox that is closed, and a stream of it, while a command is run.

use std::pin::pin;

use futures_util::future::select;
use sandpipe_client::error::Error;
use sandpipe_client::execs::exec::ExecArguments;
use sandpipe_client::execs::exec::exec;
use sandpipe_client::execs::list_stream::ListStream;
use sandpipe_client::execs::wait_options::WaitOptions;

use super::{COMMAND, command, told};
use crate::agent::program::Program;
use crate::invariants::{ensure, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

#[test]
fn closing_ends_what_is_under_way() {
    check("closed", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let client = world.client();
        let scope = client.http.scope.clone();
        let close_ms = random.f64() * if random.bool() { 30.0 } else { 20_000.0 };
        world.after(close_ms, move || scope.close());
        let executor = world.executor.clone();
        let (told, now_ms) = world.run(async move {
            let told = exec(&client, arguments()).await;
            (told.err(), executor.now_ms())
        })?;
        runs_once(&world.agent.execs_of(COMMAND))?;
        if let Some(error) = told {
            let is_of_closing = match *error {
                Error::Closed | Error::OutputLost { .. } => true,
                Error::CreateUnknown { .. } => now_ms >= close_ms,
                _ => false,
            };
            ensure!(is_of_closing || !world.is_survivable() || now_ms < close_ms, "{error}");
        }
        ensure!(now_ms <= close_ms + 5.0, "it goes on up to {now_ms}, closed at {close_ms}");
        is_quiet(world)
    });
}

#[test]
fn a_call_that_is_given_up_leaves_nothing_behind() {
    check("given_up", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let client = world.client();
        let given_up =
            world.executor.sleep(random.f64() * if random.bool() { 30.0 } else { 20_000.0 });
        world.run(async move {
            drop(select(exec(&client, arguments()), given_up).await);
        })?;
        runs_once(&world.agent.execs_of(COMMAND))?;
        is_quiet(world)
    });
}

#[test]
fn closing_a_stream_ends_no_other_call() {
    check("stream_closed", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let client = world.client();
        let mut list = ListStream::new(client.child());
        let scope = list.scope().clone();
        world.after(random.f64() * 20.0, move || scope.close());
        let told = world.run(async move {
            let reading = pin!(async { while list.next_events().await.is_ok() {} });
            let running = exec(&client, arguments());
            // The stream may be the first to ask what the agent offers.
            match select(reading, running).await {
                futures_util::future::Either::Left(((), running)) => running.await,
                futures_util::future::Either::Right((ran, _)) => ran,
            }
        })?;
        let told = self::told(told.map(|(_, result)| result));
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        outcome_is_true(world, &execs, &told, true, false)
    });
}

fn arguments() -> ExecArguments {
    ExecArguments { request: command(), input: None, options: WaitOptions::default() }
}

/// No connection is left, however much goes wrong: the agent's last words take 1 s at most.
fn is_quiet(world: &World) -> Verdict {
    world.run(world.executor.sleep(2_000.0))?;
    let connections = world.network.connections();
    ensure!(connections == 0, "{connections} connections are open");
    Ok(())
}
