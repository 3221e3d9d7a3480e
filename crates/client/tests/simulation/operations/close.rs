//! A sandbox, a call or a stream that is closed or given up while a command is run.

use std::pin::pin;

use futures_util::future::{Either, select};
use sandpipe_client::Error;
use sandpipe_client::execs::{ListStream, WaitOptions, exec};

use super::{COMMAND, arguments, outcome};
use crate::invariants::{ensure, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

#[test]
fn closing_ends_what_is_under_way() {
    check("closed", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        let client = world.client();
        let closed = client.clone();
        let close_ms = some_time(random);
        world.after(close_ms, "close", move || closed.close());
        let result = world.run(exec(&client, arguments(WaitOptions::default())))?;
        let now_ms = world.executor.now_ms();
        runs_once(&world.agent.execs_of(COMMAND))?;
        if let Err(error) = result {
            let is_of_closing = match *error {
                Error::Closed | Error::OutputLost { .. } => true,
                Error::CreateUnknown { .. } => now_ms >= close_ms,
                _ => false,
            };
            ensure!(is_of_closing || !world.setup.is_survivable() || now_ms < close_ms, "{error}");
        }
        // A function of the caller's is waited for.
        let slack_ms = if world.setup.has_hooks { 60.0 } else { 5.0 };
        ensure!(now_ms <= close_ms + slack_ms, "it goes on up to {now_ms}, closed at {close_ms}");
        is_quiet(world)
    });
}

#[test]
fn a_call_that_is_given_up_leaves_nothing_behind() {
    check("given_up", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        // It is used for other calls.
        let client = world.client();
        let call = exec(&client, arguments(WaitOptions::default()));
        let given_up = world.executor.sleep(some_time(random));
        world.run(async move { drop(select(call, given_up).await) })?;
        runs_once(&world.agent.execs_of(COMMAND))?;
        is_quiet(world)
    });
}

#[test]
fn closing_a_stream_ends_no_other_call() {
    check("stream_closed", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        let client = world.client();
        let mut list = ListStream::new(client.child(), None);
        let scope = list.scope().clone();
        world
            .after(random.f64() * 20.0, "close the stream", move || scope.controller().abort(None));
        let result = world.run(async move {
            let reading = pin!(async { while list.next_events().await.is_ok() {} });
            // The stream may be the first to ask what the agent offers.
            match select(reading, exec(&client, arguments(WaitOptions::default()))).await {
                Either::Left(((), running)) => running.await,
                Either::Right((result, _)) => result,
            }
        })?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        outcome_is_true(world, &execs, &outcome(result.map(|(_, result)| result)), true, false)
    });
}

fn some_time(random: &mut fastrand::Rng) -> f64 {
    random.f64() * if random.bool() { 30.0 } else { 20_000.0 }
}

/// No connection is left, however much goes wrong: the client's last requests take 1 s at most.
fn is_quiet(world: &World) -> Verdict {
    world.run(world.executor.sleep(2_000.0))?;
    let connections = world.network.connections();
    ensure!(connections == 0, "{connections} connections are open");
    Ok(())
}
