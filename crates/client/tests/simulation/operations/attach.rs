//! `attach`: a terminal, over a WebSocket or what there is in its place.

use std::rc::Rc;

use futures_util::future::{join, join_all};
use sandpipe_client::terminal::Terminal;
use sandpipe_client::{Error, ExecId, Result};
use sandpipe_protocol::{ExecStdout, TerminalSize};

use super::{COMMAND, command};
use crate::agent::SimAgent;
use crate::agent::exec::Exec;
use crate::agent::program::{END_MARK, Step};
use crate::executor::Executor;
use crate::invariants::ensure;
use crate::runner::check;

/// What came of a terminal.
struct Seen {
    events: Vec<ExecStdout>,
    /// How the output ended.
    end: Result<()>,
    exited: Result<i32>,
    /// What was typed, and what became of it.
    typed: Vec<(String, Result<()>)>,
    /// The columns that were set, and what became of it.
    resized: Vec<(u16, Result<()>)>,
}

#[test]
fn attach_returns_each_event_once_and_types_each_text_once() {
    check("attach", |world, random| {
        let mut program = world.program(random);
        program.steps.insert(random.usize(..=program.steps.len()), Step::CopyToMark);
        world.agent.install(COMMAND, program);
        let exec = world.agent.create(command());
        let id = ExecId::of(exec.item()).expect("an id");
        let (client, executor, agent) =
            (world.client(), world.executor.clone(), world.agent.clone());
        let (mut pauses, typed_at) = (random.fork(), exec.clone());
        let seen = world.run(async move {
            let terminal = Terminal::attach(&client, id).await?;
            let seen = use_terminal(&terminal, &executor, &agent, &typed_at, &mut pauses).await;
            terminal.close();
            Ok::<_, Box<Error>>(seen)
        })?;
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => {
                ensure!(!world.setup.is_survivable(), "not survived: {error}");
                return Ok(());
            }
        };
        let (output, state) = (exec.output(), exec.state());
        let (written, truth) = (&state.events, state.exit_code);
        ensure!(written.starts_with(&seen.events), "{:?} of {written:?}", seen.events);
        match &seen.end {
            Ok(()) => {
                ensure!(seen.events.len() == written.len(), "the end after {:?}", seen.events);
            }
            Err(error) => {
                let is_gap = state.dropped > 0 && matches!(**error, Error::OutputLost { .. });
                ensure!(is_gap || !world.setup.is_survivable(), "not survived: {error}");
            }
        }
        match &seen.exited {
            Ok(code) => ensure!(*code == truth, "the exit code {code} where it is {truth}"),
            Err(error) => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
        }
        let mut last = 0;
        for (text, outcome) in &seen.typed {
            let places: Vec<usize> = output.match_indices(text).map(|(place, _)| place).collect();
            ensure!(places.len() <= 1, "{text:?} came {} times", places.len());
            let was_read = places.first().is_some_and(|place| *place >= last);
            last = places.first().copied().unwrap_or(last);
            // What a process that was killed has not read is not there.
            let is_killed = !state.signalled.is_empty();
            match outcome {
                Ok(()) => ensure!(was_read || is_killed, "{text:?} did not come in its turn"),
                // A process that has ended reads nothing.
                Err(error) => ensure!(!world.setup.is_calm() || is_killed, "not typed: {error}"),
            }
        }
        let columns = &state.columns;
        ensure!(columns.is_sorted_by(|one, next| one < next), "sizes in the order {columns:?}");
        let set = seen.resized.iter().rev().find(|(_, outcome)| outcome.is_ok());
        let is_set = set.is_none_or(|(wanted, _)| columns.last() >= Some(wanted));
        ensure!(is_set, "{set:?}, and its columns are {columns:?}");
        Ok(())
    });
}

/// Types, reads the output to its end, and asks for the exit code.
async fn use_terminal(
    terminal: &Terminal,
    executor: &Executor,
    agent: &SimAgent,
    exec: &Rc<Exec>,
    pauses: &mut fastrand::Rng,
) -> Seen {
    let mut reader = terminal.output();
    let reading = async {
        let mut events: Vec<ExecStdout> = Vec::new();
        loop {
            match reader.read_into(&mut events).await {
                Ok(true) => {}
                Ok(false) => return (events, Ok(())),
                Err(error) => return (events, Err(error)),
            }
        }
    };
    let typing = async {
        let (mut typed, mut resized) = (Vec::new(), Vec::new());
        for number in 1..pauses.u16(1..12) {
            // What comes before the answer to the one before goes together.
            if pauses.bool() {
                executor.sleep(pauses.f64() * 100.0).await;
            }
            if pauses.u8(..4) == 0 {
                let size = TerminalSize { cols: number, rows: 24 };
                resized.push((number, terminal.resize(size)));
            } else {
                let text = format!("<typed {number}>");
                typed.push((text.clone(), terminal.write(text)));
            }
        }
        let ended = terminal.write(END_MARK.to_string());
        let typed = join_all(typed.into_iter().map(async |(text, call)| (text, call.await))).await;
        let resized =
            join_all(resized.into_iter().map(async |(cols, call)| (cols, call.await))).await;
        let ended = ended.await;
        if ended.is_err() || typed.iter().any(|(_, outcome)| outcome.is_err()) {
            // It may wait for more for ever.
            agent.signal(exec, "KILL");
        }
        (typed, resized)
    };
    let ((typed, resized), (events, end)) = join(typing, reading).await;
    // Where the output was not read to its end, over a connection of its own.
    Seen { events, end, exited: terminal.exited().await, typed, resized }
}
