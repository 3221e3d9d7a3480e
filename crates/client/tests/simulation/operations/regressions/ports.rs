//! Ports that nobody listened on.

use sandpipe_client::ports::{WaitForPortOptions, wait_for};
use sandpipe_client::{Error, ExecId, WaitLimits};
use sandpipe_protocol::OutputType;

use crate::agent::program::{Program, Step};
use crate::host::text_of;
use crate::operations::{COMMAND, command};
use crate::setup::{Parts, Setup};
use crate::world::World;

#[test]
fn the_last_output_of_an_exec_that_did_not_listen_is_told_where_events_were_dropped() {
    let setup = Setup { max_events: 2, ..Setup::calm() };
    let world = World::new(setup, Parts::default(), false);
    // It writes more at once than the agent keeps.
    let lines = ["one\n", "two\n", "three\n", "the last line\n"];
    let writes = lines.map(|line| Step::Write(OutputType::Stdout, line.to_owned()));
    let steps = [Step::Pause(100.0)].into_iter().chain(writes).collect();
    world.agent.install(COMMAND, Program { steps, ..Program::exit(3) });
    let exec = world.agent.create(command());
    let id = ExecId::of(exec.item()).expect("an id");
    let options = WaitForPortOptions { limits: WaitLimits::default(), exec: Some(id) };
    let waited = world.run(wait_for(&world.client(), 5173, options)).expect("it ends");
    let Error::NotReady(not_ready) = *waited.expect_err("nobody listens") else {
        panic!("it says something else");
    };
    assert_eq!(not_ready.exit_code, Some(3));
    assert_eq!(text_of(&not_ready.output), "the last line\n");
    assert_eq!(exec.state().dropped, 3);
}
