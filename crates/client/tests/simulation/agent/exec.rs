//! An exec of a simulated agent.

use std::cell::{Ref, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use sandpipe_protocol::{
    Characters, CreateExecRequest, ExecItem, ExecStatus, ExecStdout, Gap, NO_EXIT_CODE, OutputType,
};

use super::output_form::TIMESTAMP;
use super::program::Other;

/// An exec: what was asked for, and what has become of it.
pub(crate) struct Exec {
    pub(crate) id: String,
    pub(crate) request: CreateExecRequest,
    state: RefCell<State>,
    waiting: Waiting,
}

/// What has become of an exec.
pub(crate) struct State {
    pub(crate) status: ExecStatus,
    pub(crate) pid: u32,
    pub(crate) exit_code: i32,
    /// All events there have been, also those that the agent has dropped.
    pub(crate) events: Vec<ExecStdout>,
    /// What each of them was made of.
    pub(super) pieces: Vec<Piece>,
    stdout: Characters,
    stderr: Characters,
    /// How many of them it has dropped: the first ones.
    pub(crate) dropped: usize,
    /// The most events that it keeps.
    pub(crate) max_events: usize,
    /// What its process has read from standard input.
    pub(crate) read: String,
    /// What it has not read yet.
    pub(crate) input: VecDeque<String>,
    /// The beginning of a character of it.
    pub(crate) input_rest: Vec<u8>,
    /// How many inputs there have been.
    pub(crate) inputs: u64,
    pub(crate) input_ended: bool,
    /// The columns of its terminal, as they were set one after the other.
    pub(crate) columns: Vec<u16>,
    /// The signals that its process has not heeded yet.
    pub(crate) signals: VecDeque<String>,
    /// All signals that were sent to its group, with the time in milliseconds.
    pub(crate) signalled: Vec<(f64, String)>,
    /// The other processes of its group, with the time in milliseconds up to which each lives.
    pub(crate) others: Vec<(f64, Other)>,
    /// When its process ended, in milliseconds; it never has if that is infinite.
    pub(crate) ended_ms: f64,
    pub(crate) is_deleted: bool,
    /// The scripts that it has begun, if it is the shell of a session.
    pub(crate) scripts: Vec<String>,
    /// The one of them that goes on.
    pub(crate) running: Option<String>,
}

/// The bytes of an event.
pub(super) struct Piece {
    /// The character that it goes on with: its first bytes.
    pub(super) unfinished: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl Exec {
    pub(super) fn new(number: u32, request: CreateExecRequest, max_events: usize) -> Self {
        let state = State {
            status: ExecStatus::Created,
            pid: 1000 + number,
            exit_code: NO_EXIT_CODE,
            events: Vec::new(),
            pieces: Vec::new(),
            stdout: Characters::default(),
            stderr: Characters::default(),
            dropped: 0,
            max_events,
            read: String::new(),
            input: VecDeque::new(),
            input_rest: Vec::new(),
            inputs: 0,
            input_ended: request.interactive == Some(false),
            columns: Vec::new(),
            signals: VecDeque::new(),
            signalled: Vec::new(),
            others: Vec::new(),
            ended_ms: f64::INFINITY,
            is_deleted: false,
            scripts: Vec::new(),
            running: None,
        };
        let (id, state) = (format!("exec-{number:06}"), RefCell::new(state));
        Self { id, request, state, waiting: Waiting::default() }
    }

    /// Its state now.
    pub(crate) fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    /// Changes its state, and wakes all that wait for a change.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let changed = change(&mut self.state.borrow_mut());
        self.waiting.wake();
        changed
    }

    /// Waits until there is something.
    pub(crate) async fn wait_for<T>(&self, mut find: impl FnMut(&mut State) -> Option<T>) -> T {
        self.waiting.until(|| find(&mut self.state.borrow_mut())).await
    }

    /// Writes to standard input; None if that has ended.
    pub(super) fn write(&self, text: String) -> Option<Written> {
        self.change(|state| {
            if state.input_ended || state.has_ended() {
                return None;
            }
            state.inputs += 1;
            state.input.push_back(text);
            Some(Written(state.inputs))
        })
    }

    /// The same for bytes that are text, cut anywhere: the process reads whole characters.
    pub(super) fn write_bytes(&self, bytes: &[u8]) -> Option<Written> {
        let text = self.change(|state| {
            state.input_rest.extend(bytes);
            let whole = match str::from_utf8(&state.input_rest) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            String::from_utf8(state.input_rest.drain(..whole).collect()).expect("text")
        });
        self.write(text)
    }

    /// Waits until the process has read it, or has ended.
    pub(super) async fn wait_until_read(&self, Written(number): Written) {
        self.wait_for(|state| {
            let read = state.inputs - state.input.len() as u64;
            (number <= read || state.has_ended()).then_some(())
        })
        .await;
    }

    pub(crate) fn item(&self) -> ExecItem {
        let CreateExecRequest { command, args, pty, user, .. } = self.request.clone();
        let state = self.state();
        ExecItem {
            id: self.id.clone(),
            command,
            args,
            status: state.status.clone(),
            pid: if state.status == ExecStatus::Created { 0 } else { state.pid },
            pty: pty.unwrap_or_default(),
            exit_code: state.exit_code,
            user,
            created_at: None,
            started_at: None,
            ended_at: None,
            cwd: None,
            policy: None,
            stop_reason: None,
            output_error: None,
            args_truncated: None,
        }
    }

    /// When a signal, without its `SIG`, was sent to its group, in milliseconds.
    pub(crate) fn times_of(&self, signal: &str) -> Vec<f64> {
        let state = self.state();
        let sent = state.signalled.iter().filter(|(_, name)| name == signal);
        sent.map(|(ms, _)| *ms).collect()
    }

    /// All that its processes wrote.
    pub(crate) fn output(&self) -> String {
        self.state().events.iter().map(|event| event.output.as_str()).collect()
    }
}

/// The number of an input.
pub(super) struct Written(u64);

impl State {
    /// Whether its own process has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.status, ExecStatus::Exited | ExecStatus::Stopped)
    }

    /// Whether a process of its group is there.
    pub(crate) fn has_processes(&self, now_ms: f64) -> bool {
        let has_leader = self.status != ExecStatus::Created && !self.has_ended();
        has_leader || self.others.iter().any(|(until_ms, _)| now_ms < *until_ms)
    }

    /// Adds what a process wrote.
    pub(super) fn write(&mut self, kind: OutputType, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        let characters = self.characters(kind);
        let unfinished = characters.unfinished().to_vec();
        let output = characters.next(&bytes).to_text();
        self.add_event(kind, output, None, Piece { unfinished, bytes });
    }

    /// All has been written, and this is the exit code.
    pub(super) fn end_output(&mut self, exit_code: i32) {
        for kind in [OutputType::Stdout, OutputType::Stderr] {
            if !self.characters(kind).unfinished().is_empty() {
                self.write(kind, "");
            }
        }
        let piece = Piece { unfinished: Vec::new(), bytes: Vec::new() };
        self.add_event(OutputType::Stdout, String::new(), Some(exit_code), piece);
    }

    fn characters(&mut self, kind: OutputType) -> &mut Characters {
        match kind {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        }
    }

    /// Adds an event; the oldest one goes where there are too many.
    fn add_event(
        &mut self,
        kind: OutputType,
        output: String,
        exit_code: Option<i32>,
        piece: Piece,
    ) {
        self.pieces.push(piece);
        let sequence = self.events.len() as u64 + 1;
        let timestamp = Some(TIMESTAMP.to_owned());
        self.events.push(ExecStdout { kind, output, sequence, timestamp, exit_code });
        self.dropped = self.dropped.max(self.events.len().saturating_sub(self.max_events));
    }

    /// The number of the event after which a reader begins; a negative one is counted from the end.
    pub(super) fn start_after(&self, last_sequence: i64) -> u64 {
        let newest = self.events.len() as u64;
        if last_sequence >= 0 {
            last_sequence.unsigned_abs()
        } else {
            newest.saturating_sub(last_sequence.unsigned_abs()).max(self.dropped as u64)
        }
    }

    /// The events after `last` that are not there any more.
    pub(super) fn gap_after(&self, last: u64) -> Option<Gap> {
        let dropped = self.dropped as u64;
        (last < dropped).then_some(Gap { from: last + 1, to: dropped })
    }

    /// The events after `last` that are there.
    pub(super) fn events_after(&self, last: u64) -> &[ExecStdout] {
        let from = usize::try_from(last).unwrap_or(usize::MAX).max(self.dropped);
        self.events.get(from..).unwrap_or_default()
    }
}

/// Tasks that wait for a change.
#[derive(Default)]
pub(super) struct Waiting(RefCell<Vec<Waker>>);

impl Waiting {
    pub(super) fn wake(&self) {
        self.0.take().into_iter().for_each(Waker::wake);
    }

    /// Waits until there is something, which is looked for after each change.
    pub(super) async fn until<T>(&self, mut find: impl FnMut() -> Option<T>) -> T {
        poll_fn(|context| {
            if let Some(found) = find() {
                return Poll::Ready(found);
            }
            let mut waiting = self.0.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await
    }
}
