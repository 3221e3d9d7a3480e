//! Ports: the list as it changes, and the wait for one.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use sandpipe_client::ports::{PortStream, WaitForPortOptions, wait_for};
use sandpipe_client::{AbortSignal, Error, ExecId, HostValue, WaitLimits};
use sandpipe_protocol::PortsListResponse;

use super::{COMMAND, command};
use crate::host::text_of;
use crate::invariants::{ensure, was_aborted};
use crate::runner::{Verdict, check};
use crate::world::World;

/// The port that is waited for.
const PORT: u16 = 5173;

/// Why a wait was aborted.
struct Enough;

#[test]
fn port_lists_are_those_there_were_each_once_up_to_the_one_in_the_end() {
    check("port_list", |world, random| {
        let lists = Rc::<RefCell<Vec<PortsListResponse>>>::default();
        let shown = lists.clone();
        let mut stream = PortStream::new(world.client().child());
        let (agent, executor) = (world.agent.clone(), world.executor.clone());
        let truth = Rc::new(RefCell::new(vec![agent.ports.list()]));
        let was = truth.clone();
        let mut random = random.fork();
        let settling_ms = if world.setup.is_calm() { 1_000.0 } else { 600_000.0 };
        let failed = world.run(async move {
            let reading = async {
                loop {
                    match stream.next_list().await {
                        Ok(list) => shown.borrow_mut().push(list),
                        Err(error) => return error,
                    }
                }
            };
            let changing = async {
                for _ in 0..random.usize(..8) {
                    agent.ports.listen(random.u16(1..4), random.bool());
                    was.borrow_mut().push(agent.ports.list());
                    // Some come together.
                    let max_ms = [50.0, 3_000.0][random.usize(..2)];
                    executor.sleep(random.f64() * max_ms).await;
                }
                executor.sleep(settling_ms).await;
            };
            match select(pin!(reading), pin!(changing)).await {
                Either::Left((error, _)) => Some(error),
                Either::Right(_) => None,
            }
        })?;
        let (shown, truth) = (lists.take(), truth.take());
        for list in &shown {
            ensure!(truth.contains(list), "{list:?} was never true");
        }
        for [before, list] in shown.array_windows() {
            ensure!(before != list, "{list:?} comes twice");
        }
        match failed {
            Some(error) => is_true_failure(world, &error)?,
            None if world.setup.is_survivable() => {
                ensure!(shown.last() == truth.last(), "{shown:?} where it is {truth:?}");
            }
            None => {}
        }
        Ok(())
    });
}

#[test]
fn a_port_is_waited_for_up_to_the_end_of_its_exec_and_no_longer() {
    check("wait_for_port", |world, random| {
        let ports = world.agent.clone();
        let opens_ms = world.maybe(random.bool().then(|| random.f64() * 5_000.0));
        if let Some(ms) = opens_ms {
            world.after(ms, "the port is listened on", move || ports.ports.listen(PORT, true));
        }
        if random.bool() {
            world.agent.ports.listen(PORT + 1, true);
        }
        let exec = random.bool().then(|| {
            world.agent.install(COMMAND, world.program(random));
            world.agent.create(command())
        });
        let has_end = opens_ms.is_some() || exec.is_some();
        let timeout_ms = (!has_end || random.u8(..8) == 0).then(|| random.f64() * 10_000.0);
        let signal = AbortSignal::default();
        let abort_ms = world.maybe((random.u8(..8) == 0).then(|| random.f64() * 5_000.0));
        if let Some(ms) = abort_ms {
            let controller = signal.controller();
            world.after(ms, "abort", move || controller.abort(Some(HostValue::new(Enough))));
        }
        let limits = WaitLimits { timeout_ms, signal: Some(signal.clone()) };
        let id = exec.as_ref().map(|exec| ExecId::of(exec.item()).expect("an id"));
        let options = WaitForPortOptions { limits, exec: id };
        let ended_ms = Rc::new(Cell::new(0.0));
        let found = {
            let (waiting, executor) = (wait_for(&world.client(), PORT, options), &world.executor);
            let (executor, ended_ms) = (executor.clone(), ended_ms.clone());
            world.run(async move {
                let found = waiting.await;
                ended_ms.set(executor.now_ms());
                found
            })?
        };
        if let Some(ms) = abort_ms.into_iter().chain(timeout_ms).reduce(f64::min) {
            // Timers may be late, by half of their time.
            let due_ms = ms * 1.5 + 1.0;
            ensure!(ended_ms.get() <= due_ms, "it ended after {} ms", ended_ms.get());
        }
        match found {
            Ok(found) => {
                ensure!(found.port == PORT, "{found:?}");
                ensure!(world.agent.ports.list().ports.contains(&found), "nobody listens");
            }
            Err(error) => match *error {
                Error::NotReady(not_ready) => {
                    let Some(exec) = exec else {
                        return Err("there was no exec".to_owned());
                    };
                    let state = exec.state();
                    ensure!(state.has_ended(), "it goes on");
                    let (code, truth) = (not_ready.exit_code, state.exit_code);
                    ensure!(code == Some(truth), "the exit code {code:?} where it is {truth}");
                    let output = exec.output();
                    let last = text_of(&not_ready.output);
                    // Of an agent that drops events some are missing.
                    let keeps_all = world.setup.keeps_all_events();
                    let is_end = output.ends_with(&last) || !keeps_all;
                    ensure!(is_end, "{last:?} is not the end of {output:?}");
                    let is_empty = last.is_empty() && !output.is_empty();
                    // The last events alone are asked for, and the host may have no room.
                    let has_text =
                        state.events.iter().rev().take(20).any(|it| !it.output.is_empty());
                    let is_excused = !has_text || !keeps_all;
                    ensure!(!is_empty || is_excused || is_long(world, &output), "no output");
                }
                Error::WaitTimedOut { .. } => {
                    ensure!(timeout_ms.is_some(), "nobody asked for a timeout");
                }
                ref error if was_aborted::<Enough>(error) => {
                    ensure!(abort_ms.is_some(), "it was not aborted");
                }
                _ => is_true_failure(world, &error)?,
            },
        }
        Ok(())
    });
}

/// Whether the host can't hold a text.
fn is_long(world: &World, text: &str) -> bool {
    text.encode_utf16().count() > world.setup.max_text_length as usize
}

fn is_true_failure(world: &World, error: &Error) -> Verdict {
    if let Error::Unsupported { .. } = error {
        let says_nothing = world.setup.features.is_empty();
        let has_ports = world.setup.offers("ports") || says_nothing;
        ensure!(!has_ports || !world.setup.is_survivable(), "the agent has ports");
        return Ok(());
    }
    ensure!(!world.setup.is_survivable(), "not survived: {error}");
    Ok(())
}
