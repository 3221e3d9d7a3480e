//! `terminate`: a command that was started before is stopped.

use sandpipe_client::abort::AbortSignal;
use sandpipe_client::error::Error;
use sandpipe_client::execs::id::ExecId;
use sandpipe_client::execs::terminate::TerminateOptions;
use sandpipe_client::execs::terminate::terminate;

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::faults::Budget;
use crate::invariants::{ensure, has_processes};
use crate::runner::check;

#[test]
fn leaves_no_process_of_the_group_and_gives_its_exit_code() {
    check("terminate", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let client = world.client();
        let pause = world.executor.sleep(random.f64() * 500.0);
        let force = AbortSignal::default();
        if random.bool() {
            let force = force.clone();
            world.after(random.f64() * 8_000.0, move || force.controller().abort(None));
        }
        let force_signal = Some(force);
        let options = TerminateOptions { grace_ms: random.f64() * 15_000.0, force_signal };
        let told = world.run(async move {
            pause.await;
            terminate(&client, id, options).await
        })?;
        let has_processes = has_processes(world, &exec);
        let is_calm = world.setup.budget == Budget::None;
        match told {
            Ok(terminated) => {
                let (truth, signals) =
                    exec.look(|state| (state.exit_code, state.signalled.clone()));
                ensure!(!has_processes, "processes are left");
                ensure!(terminated.exit_code == truth, "{terminated:?} where it is {truth}");
                let is_killed = signals.iter().any(|(_, signal)| signal == "KILL");
                ensure!(terminated.forced || !is_killed, "SIGKILL came, and is not told");
            }
            Err(error) => {
                let is_still_there = matches!(*error, Error::StillThere(_));
                ensure!(!is_still_there, "no process survives SIGKILL");
                // A signal that can't be delivered, or seen to work, in time is no fault of the client's.
                let is_undelivered = error.is_answer() || matches!(*error, Error::Protocol { .. });
                ensure!(
                    (is_undelivered && !is_calm) || !world.is_survivable(),
                    "not borne: {error}"
                );
            }
        }
        Ok(())
    });
}
