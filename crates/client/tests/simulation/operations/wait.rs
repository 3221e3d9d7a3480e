//! `wait`: a command that was started is followed to its end.

use sandpipe_client::execs::id::ExecId;
use sandpipe_client::execs::wait::wait;
use sandpipe_client::execs::wait_options::WaitOptions;

use super::{COMMAND, command, told};
use crate::agent::program::Program;
use crate::invariants::outcome_is_true;
use crate::runner::check;

#[test]
fn gives_the_exit_code_and_all_output_of_a_command_that_was_started_before() {
    check("wait", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let client = world.client();
        let pause = world.executor.sleep(random.f64() * 500.0);
        let told = world.run(async move {
            pause.await;
            told(wait(&client, id, WaitOptions::default()).await)
        })?;
        outcome_is_true(world, &[exec], &told, false, false)
    });
}
