//! `getOutput` and `streamOutput`: what there is of a command's output, and its events as they come.

use sandpipe_client::execs::{ExecSnapshot, OutputReader, get_output};
use sandpipe_client::{Error, Result};
use sandpipe_protocol::ExecStdout;

use super::call_later;
use crate::agent::exec::Exec;
use crate::host::text_of;
use crate::invariants::ensure;
use crate::runner::{Verdict, check};
use crate::world::World;

#[test]
fn get_output_returns_what_there_is_and_the_exit_code_only_with_all_of_it() {
    check("get_output", |world, random| {
        let program = world.program(random);
        let starts: Vec<u8> = (0..random.u8(1..6)).map(|_| random.u8(..4)).collect();
        let (agent, executor) = (world.agent.clone(), world.executor.clone());
        let (exec, results) = call_later(world, program, random, move |client, id| async move {
            let exec = agent.exec(id.as_str()).expect("it exists");
            let mut results = Vec::new();
            for start in starts {
                let existed = exec.state().events.len();
                let result = get_output(&client, id.clone(), start.into()).await;
                results.push((start.into(), existed, result));
                executor.sleep(50.0).await;
            }
            results
        })?;
        results.into_iter().try_for_each(|(start, existed, result)| {
            is_output(world, &exec, start, existed, result)
        })
    });
}

/// Whether a result has the output after event `start`: of `existed` events all.
fn is_output(
    world: &World,
    exec: &Exec,
    start: usize,
    existed: usize,
    result: Result<ExecSnapshot>,
) -> Verdict {
    match result {
        Ok(result) => {
            let state = exec.state();
            let events = state.events.iter().skip(start);
            let written: String = events.map(|event| event.output.as_str()).collect();
            let (output, truth) = (text_of(&result.output), state.exit_code);
            ensure!(written.starts_with(&output), "{output:?} of {written:?}");
            let existed = state.events[..existed].iter().skip(start);
            let length: usize = existed.clone().map(|event| event.output.len()).sum();
            ensure!(output.len() >= length, "{output:?} where there was more: {written:?}");
            let had_ended = existed.last().is_some_and(|event| event.exit_code.is_some());
            ensure!(!had_ended || result.exit_code.is_some(), "the exit code is missing");
            if let Some(exit_code) = result.exit_code {
                ensure!(exit_code == truth, "the exit code {exit_code} where it is {truth}");
                ensure!(output == written, "an exit code after {output:?} of {written:?}");
            }
        }
        Err(error) => match *error {
            Error::OutputLost { from, to, .. } => {
                let is_true = from <= to && to <= exec.state().dropped as u64;
                ensure!(is_true, "{from} to {to} are not lost");
            }
            Error::OutputLimit { .. } => {
                let length = exec.output().encode_utf16().count();
                let max = world.setup.max_text_length as usize;
                ensure!(length > max, "{length} fit in {max}");
            }
            error => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
        },
    }
    Ok(())
}

#[test]
fn stream_output_returns_each_event_once_and_in_order_up_to_the_exit_code() {
    check("stream_output", |world, random| {
        let program = world.program(random);
        let start = if random.bool() { 0 } else { random.i64(-5..5) };
        // One that is left early must do no harm.
        let max_reads = if random.u8(..4) == 0 { random.usize(..4) } else { usize::MAX };
        let (exec, (events, end)) =
            call_later(world, program, random, move |client, id| async move {
                let mut reader = OutputReader::new(client.child(), id, start);
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
        let state = exec.state();
        let (written, truth) = (&state.events, state.exit_code);
        if start > 0 && start.unsigned_abs() >= written.len() as u64 {
            // What it asked for is behind the end: there is the exit code alone.
            let is_true =
                |event: &ExecStdout| event.output.is_empty() && event.exit_code == Some(truth);
            ensure!(events.iter().all(is_true), "{events:?}, and the exit code is {truth}");
            // Where the last stream breaks, too, no event shows that nothing is missing.
            let is_survived = end.is_none_or(|end| match end {
                Ok(()) => true,
                Err(error) => matches!(*error, Error::ExitCodeMissing { .. }),
            });
            ensure!(is_survived || !world.setup.is_survivable(), "not survived");
            return Ok(());
        }
        let first = match events.first() {
            Some(event) if start < 0 => event.sequence - 1,
            _ => start.max(0).unsigned_abs(),
        };
        let expected = written.get(usize::try_from(first).expect("small")..).unwrap_or_default();
        ensure!(expected.starts_with(&events), "{events:?} of {expected:?}");
        match end {
            None => {}
            Some(Ok(())) => {
                let is_whole = events.len() == expected.len();
                ensure!(is_whole, "the end after {events:?} of {expected:?}");
            }
            Some(Err(error)) => match *error {
                Error::OutputLost { from, to, .. } => {
                    let is_true = from <= to && to <= state.dropped as u64;
                    ensure!(is_true, "{from} to {to} are not lost");
                    let next = events.last().map_or(first, |event| event.sequence) + 1;
                    ensure!(start < 0 || from == next, "{next} comes next, and {from} is lost");
                }
                error => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
            },
        }
        Ok(())
    });
}
