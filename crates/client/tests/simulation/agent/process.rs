//! The process of an exec: it carries out its program, up to a signal that ends it.

use std::pin::pin;

use futures_util::future::{Either, select};
use sandpipe_protocol::{ExecStatus, OutputType};

use super::exec::Exec;
use super::program::{END_MARK, OnTerm, Program, Step, TIDIED_UP};
use crate::executor::Executor;

/// Runs a program to its end.
pub(super) async fn run(executor: &Executor, exec: &Exec, program: Program) {
    let Program { steps, exit_code, on_term } = program;
    let carried_out = pin!(carry_out(executor, exec, steps));
    let end = match select(carried_out, pin!(next_end(exec, on_term))).await {
        Either::Left(_) => exit_code,
        Either::Right((End::Killed(exit_code), _)) => exit_code,
        Either::Right((End::TidiesUp { after_ms, exit_code }, _)) => {
            let tidied = executor.sleep(after_ms);
            match select(tidied, pin!(next_end(exec, OnTerm::Ignore))).await {
                Either::Left(_) => {
                    let words = TIDIED_UP.to_owned();
                    exec.change(|state| state.write(OutputType::Stdout, words));
                    exit_code
                }
                Either::Right(_) => KILLED,
            }
        }
    };
    finish(executor, exec, end);
}

/// The process has ended with this exit code.
pub(super) fn finish(executor: &Executor, exec: &Exec, exit_code: i32) {
    exec.change(|state| {
        state.ended_ms = executor.now_ms();
        state.end_output(exit_code);
        state.exit_code = exit_code;
        let was_stopped = state.status == ExecStatus::Stopping;
        state.status = if was_stopped { ExecStatus::Stopped } else { ExecStatus::Exited };
    });
}

/// The exit codes of death by SIGKILL and SIGTERM.
pub(super) const KILLED: i32 = 128 + 9;
const TERMINATED: i32 = 128 + 15;

enum End {
    Killed(i32),
    TidiesUp { after_ms: f64, exit_code: i32 },
}

/// Heeds signals up to one that ends it.
async fn next_end(exec: &Exec, on_term: OnTerm) -> End {
    loop {
        let signal = exec.wait_for(|state| state.signals.pop_front()).await;
        match (signal.as_str(), on_term) {
            ("KILL", _) => return End::Killed(KILLED),
            ("TERM", OnTerm::Die) => return End::Killed(TERMINATED),
            ("TERM", OnTerm::TidyUp { after_ms, exit_code }) => {
                return End::TidiesUp { after_ms, exit_code };
            }
            _ => {}
        }
    }
}

pub(super) async fn carry_out(executor: &Executor, exec: &Exec, steps: Vec<Step>) {
    for step in steps {
        match step {
            Step::Write(kind, text) => exec.change(|state| state.write(kind, text)),
            Step::WriteBytes(kind, bytes) => exec.change(|state| state.write(kind, bytes)),
            Step::Pause(ms) => executor.sleep(ms).await,
            Step::Fork(other) => {
                let until_ms = executor.now_ms() + other.lives_ms;
                exec.change(|state| state.others.push((until_ms, other)));
            }
            Step::Copy => copy(exec, |_| false).await,
            Step::CopyToMark => copy(exec, |text| text.contains(END_MARK)).await,
        }
    }
}

/// Writes what is read from standard input, up to its end or the last text.
async fn copy(exec: &Exec, is_last: impl Fn(&str) -> bool) {
    while let Some(text) = next_input(exec).await {
        let is_last = is_last(&text);
        exec.change(|state| state.write(OutputType::Stdout, text));
        if is_last {
            return;
        }
    }
}

/// What comes next over standard input; None at its end.
pub(super) async fn next_input(exec: &Exec) -> Option<String> {
    let next = exec.wait_for(|state| match state.input.pop_front() {
        Some(text) => {
            state.read.push_str(&text);
            Some(Some(text))
        }
        None => state.input_ended.then_some(None),
    });
    let next = next.await;
    // Who wrote it waits for that.
    exec.change(|_| ());
    next
}
