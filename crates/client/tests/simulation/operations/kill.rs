//! `kill`: one signal for a process group.

use sandpipe_client::execs::id::ExecId;
use sandpipe_client::execs::signal::kill;

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::faults::Budget;
use crate::invariants::ensure;
use crate::runner::check;

#[test]
fn sends_one_signal_or_says_why_not() {
    check("kill", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let client = world.client();
        let pause = world.executor.sleep(random.f64() * 500.0);
        let sent = world.run(async move {
            pause.await;
            kill(&client, &id, "SIGTERM".to_owned()).await
        })?;
        let arrived = exec.look(|state| state.signalled.len());
        ensure!(arrived <= 1, "it came {arrived} times");
        match sent {
            Ok(()) => ensure!(arrived == 1, "it was sent, and did not come"),
            Err(error) if world.setup.budget == Budget::None => {
                ensure!(error.status() == Some(409), "not sent: {error}");
                ensure!(arrived == 0, "it came, and this was told: {error}");
            }
            Err(_) => {}
        }
        Ok(())
    });
}
