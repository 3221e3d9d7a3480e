//! `getOutput`: what there is of a command's output.

use sandpipe_client::error::Error;
use sandpipe_client::execs::get_output::get_output;
use sandpipe_client::execs::id::ExecId;

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::host::text_of;
use crate::invariants::ensure;
use crate::runner::check;

#[test]
fn gives_what_there_is_and_the_exit_code_only_with_all_of_it() {
    check("get_output", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let start = random.usize(..4);
        let pause = world.executor.sleep(random.f64() * 500.0);
        let client = world.client();
        let told = world.run(async move {
            pause.await;
            get_output(&client, id, i64::try_from(start).expect("small")).await
        })?;
        match told {
            Ok(result) => {
                let (output, written) = (
                    text_of(&result.output),
                    exec.look(|state| {
                        let events = state.events.iter().skip(start);
                        events.map(|event| event.output.as_str()).collect::<String>()
                    }),
                );
                ensure!(written.starts_with(&output), "{output:?} of {written:?}");
                if let Some(exit_code) = result.exit_code {
                    let truth = exec.look(|state| state.exit_code);
                    ensure!(exit_code == truth, "the exit code {exit_code} where it is {truth}");
                    ensure!(output == written, "an exit code after {output:?} of {written:?}");
                }
            }
            Err(error) => match *error {
                Error::OutputLost { from, to, .. } => {
                    let dropped = exec.look(|state| state.dropped) as u64;
                    ensure!(from <= to && to <= dropped, "{from} to {to} are not lost");
                }
                Error::OutputLimit { .. } => {
                    let length = exec.output().encode_utf16().count();
                    let max = world.setup.surroundings.max_text_length as usize;
                    ensure!(length > max, "{length} fit in {max}");
                }
                error => ensure!(!world.is_survivable(), "not borne: {error}"),
            },
        }
        Ok(())
    });
}
