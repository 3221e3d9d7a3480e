//! `streamOutput`: the events of a command's output as they come.

use sandpipe_client::error::Error;
use sandpipe_client::execs::id::ExecId;
use sandpipe_client::execs::output_reader::OutputReader;
use sandpipe_protocol::ExecStdout;

use super::{COMMAND, command};
use crate::agent::program::Program;
use crate::invariants::ensure;
use crate::runner::check;

#[test]
fn gives_each_event_once_and_in_order_up_to_the_exit_code() {
    check("stream_output", |world, random| {
        world.agent.install(COMMAND, Program::of(random));
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let start = if random.bool() { 0 } else { random.i64(-5..5) };
        let mut reader = OutputReader::new(world.client().child(), id, start);
        // One that is left early must be no trouble.
        let max_reads = if random.u8(..4) == 0 { random.usize(..4) } else { usize::MAX };
        let pause = world.executor.sleep(random.f64() * 500.0);
        let (events, end) = world.run(async move {
            pause.await;
            let mut events: Vec<ExecStdout> = Vec::new();
            for _ in 0..max_reads {
                match reader.read_into(&mut events).await {
                    Ok(true) => {}
                    Ok(false) => return (events, Some(Ok(()))),
                    Err(error) => return (events, Some(Err(error))),
                }
            }
            (events, None)
        })?;
        let written = exec.look(|state| state.events.clone());
        if start > 0 && start.unsigned_abs() >= written.len() as u64 {
            // It asked for what is behind the end: there is the exit code alone.
            let truth = exec.look(|state| state.exit_code);
            let is_true =
                |event: &ExecStdout| event.output.is_empty() && event.exit_code == Some(truth);
            ensure!(events.iter().all(is_true), "{events:?}, and the exit code is {truth}");
            return Ok(());
        }
        let first = match events.first() {
            Some(event) if start < 0 => event.sequence - 1,
            _ => start.max(0).unsigned_abs(),
        };
        let expected = written.get(usize::try_from(first).expect("small")..).unwrap_or_default();
        let dropped = exec.look(|state| state.dropped);
        ensure!(expected.starts_with(&events), "{events:?} of {expected:?}");
        match end {
            None => {}
            Some(Ok(())) => {
                let is_whole = events.len() == expected.len();
                ensure!(is_whole, "the end after {events:?} of {expected:?}");
            }
            Some(Err(error)) => match *error {
                Error::OutputLost { from, to, .. } => {
                    let is_true = from <= to && to <= dropped as u64;
                    ensure!(is_true, "{from} to {to} are not lost");
                    let next = events.last().map_or(first, |event| event.sequence) + 1;
                    ensure!(start < 0 || from == next, "{next} comes next, and {from} is lost");
                }
                error => ensure!(!world.is_survivable(), "not borne: {error}"),
            },
        }
        Ok(())
    });
}
