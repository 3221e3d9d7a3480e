//! `waitForOutput`: a text in a command's output, found where it is, and only there.

use sandpipe_client::execs::{WaitForOutputOptions, wait_for_output};
use sandpipe_client::output::Pattern;
use sandpipe_client::{AbortSignal, Error, HostValue, WaitLimits};
use sandpipe_protocol::OutputType;

use super::call_later;
use crate::invariants::{ensure, was_aborted};
use crate::runner::check;

/// Why a wait was aborted.
struct Enough;

#[test]
fn a_text_is_found_where_it_is_and_its_lack_only_at_the_end() {
    check("wait_for_output", |world, random| {
        let program = world.program(random);
        // Text of its own output, mostly, which may be cut into events.
        let output: Vec<char> = program.output().chars().collect();
        let start = random.usize(..=output.len());
        let length = random.usize(1..12);
        let text: String = output[start..].iter().take(length).collect();
        let text = if text.is_empty() { "never".to_owned() } else { text };
        let last_sequence = if random.u8(..4) == 0 { random.i64(0..4) } else { 0 };
        let timeout_ms = (random.u8(..8) == 0).then(|| random.f64() * 5_000.0);
        let signal = AbortSignal::default();
        let abort_ms = world.maybe((random.u8(..8) == 0).then(|| random.f64() * 5_000.0));
        if let Some(ms) = abort_ms {
            let controller = signal.controller();
            world.after(ms, "abort", move || controller.abort(Some(HostValue::new(Enough))));
        }
        let pattern = Pattern::Text(text.as_str().into());
        let limits = WaitLimits { timeout_ms, signal: Some(signal.clone()) };
        let options = WaitForOutputOptions { limits, last_sequence };
        let (exec, found) = call_later(world, program, random, move |client, id| async move {
            wait_for_output(&client, id, pattern, options).await
        })?;
        let state = exec.state();
        // The event in which it first ends, of those that there are by now.
        let skipped = usize::try_from(last_sequence).expect("small");
        let first = |kind: OutputType| {
            let mut stream = String::new();
            state.events.iter().skip(skipped).filter(|event| event.kind == kind).find(|event| {
                stream.push_str(&event.output);
                stream.contains(&text)
            })
        };
        let firsts = [first(OutputType::Stdout), first(OutputType::Stderr)];
        match found {
            Ok(found) => {
                let is_first = firsts.into_iter().flatten().any(|event| *event == found.event);
                ensure!(is_first, "{text:?} does not end in {:?}", found.event);
            }
            Err(error) => match *error {
                Error::NotReady(not_ready) => {
                    ensure!(state.has_ended(), "it goes on");
                    let (code, truth) = (not_ready.exit_code, state.exit_code);
                    ensure!(code == Some(truth), "the exit code {code:?} where it is {truth}");
                    ensure!(firsts == [None, None], "{text:?} is in {firsts:?}");
                }
                Error::WaitTimedOut { .. } => {
                    ensure!(timeout_ms.is_some(), "nobody asked for a timeout");
                }
                ref error if was_aborted::<Enough>(error) => {
                    ensure!(abort_ms.is_some(), "it was not aborted");
                }
                Error::OutputLost { from, to, .. } => {
                    let is_true = from <= to && to <= state.dropped as u64;
                    ensure!(is_true, "{from} to {to} are not lost");
                }
                // What it asked for is behind the end, and nothing shows that no more comes.
                Error::ExitCodeMissing { .. } if skipped >= state.events.len() => {}
                error => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
            },
        }
        Ok(())
    });
}
