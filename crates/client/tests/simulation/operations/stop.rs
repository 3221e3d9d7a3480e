//! Stopping a command: `exec` that is interrupted once or twice, has a timeout or too much output; `terminate`; `kill`.

use std::rc::Rc;

use sandpipe_client::error::{NotStopped, OutputLimit};
use sandpipe_client::execs::{TerminateOptions, WaitOptions, kill, terminate};
use sandpipe_client::output::Encoding;
use sandpipe_client::{AbortSignal, Error};

use super::{COMMAND, arguments, call_later, run_command};
use crate::agent::exec::Exec;
use crate::agent::program::Step;
use crate::faults::{Fault, Kind};
use crate::host::text_of;
use crate::invariants::{Outcome, ensure, has_processes, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

/// When a stop is asked for, in milliseconds, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) interrupt_ms: Option<f64>,
    pub(super) force_ms: Option<f64>,
    pub(super) timeout_ms: Option<f64>,
    pub(super) grace_ms: f64,
    pub(super) max_output_bytes: Option<u64>,
}

impl Plan {
    pub(super) fn of(world: &World, random: &mut fastrand::Rng) -> Self {
        let mut time = || {
            let max = if random.bool() { 40.0 } else { 30_000.0 };
            let time = random.f64() * max;
            world.maybe(random.bool().then_some(time))
        };
        let (interrupt_ms, force_ms, timeout_ms) = (time(), time(), time());
        let grace_ms = if random.bool() { 10_000.0 } else { random.f64() * 20_000.0 };
        let max_output_bytes = (random.u8(..8) == 0).then(|| random.u64(..200));
        let max_output_bytes = world.maybe(max_output_bytes);
        Self { interrupt_ms, force_ms, timeout_ms, grace_ms, max_output_bytes }
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        [self.interrupt_ms, self.force_ms, self.timeout_ms].into_iter().flatten()
    }

    /// When a call that begins at `begin_ms` is to be stopped, where timers take so many times as long.
    pub(super) fn stop_ms(&self, begin_ms: f64, timer_factor: f64) -> f64 {
        let aborts = [self.interrupt_ms, self.force_ms].map(|ms| ms.map(|ms| ms.max(begin_ms)));
        let timeout = self.timeout_ms.map(|ms| begin_ms + ms * timer_factor);
        aborts.into_iter().flatten().chain(timeout).fold(f64::INFINITY, f64::min)
    }

    /// When SIGKILL is due for what begins at `begin_ms`: at a second stop, or when the grace period is over.
    pub(super) fn kill_ms(&self, begin_ms: f64, timer_factor: f64) -> f64 {
        let timeout_ms = self.timeout_ms.map(|ms| begin_ms + ms * timer_factor);
        let aborts = [self.interrupt_ms, self.force_ms].map(|ms| ms.map(|ms| ms.max(begin_ms)));
        let mut times: Vec<f64> = aborts.into_iter().flatten().chain(timeout_ms).collect();
        times.sort_by(f64::total_cmp);
        let grace_ms = times.first().map(|ms| ms + self.grace_ms * timer_factor);
        let force_ms = self.force_ms.map(|ms| ms.max(begin_ms));
        let due = [grace_ms, times.get(1).copied(), force_ms];
        due.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// When the first stop is asked for.
    pub(super) fn first_ms(&self) -> f64 {
        self.times().fold(f64::INFINITY, f64::min)
    }

    /// Whether more than one thing asks for a stop: the second one forces.
    pub(super) fn may_force(&self) -> bool {
        self.force_ms.is_some() || self.times().count() > 1
    }

    pub(super) fn options(&self, world: &World) -> WaitOptions {
        WaitOptions {
            encoding: Encoding::Utf8,
            signal: self.interrupt_ms.map(|ms| abort_after(world, ms)),
            force_signal: self.force_ms.map(|ms| abort_after(world, ms)),
            timeout_ms: self.timeout_ms,
            grace_ms: self.grace_ms,
            listener: None,
            max_output_bytes: self.max_output_bytes,
            ..WaitOptions::default()
        }
    }
}

/// A signal that is aborted after so many milliseconds.
fn abort_after(world: &World, ms: f64) -> AbortSignal {
    let signal = AbortSignal::default();
    let aborted = signal.clone();
    world.after(ms, "abort", move || aborted.controller().abort(None));
    signal
}

#[test]
fn exec_stops_what_it_is_told_to_stop() {
    check("exec_stopped", |world, random| {
        let mut program = world.program(random);
        if random.bool() {
            program.steps.push(Step::Pause(3_600_000.0));
        }
        world.agent.install(COMMAND, program);
        let plan = Plan::of(world, random);
        let outcome = run_command(world, arguments(plan.options(world)))?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        outcome_is_true(world, &execs, &outcome, true, plan.first_ms().is_finite())?;
        is_stopped(world, &execs, &outcome, &plan).map_err(|problem| format!("{problem}; {plan:?}"))
    });
}

/// 4. What is told to stop, stops.
fn is_stopped(world: &World, execs: &[Rc<Exec>], outcome: &Outcome, plan: &Plan) -> Verdict {
    let (setup, now_ms) = (&world.setup, world.executor.now_ms());
    let stop_ms = plan.stop_ms(0.0, setup.timer_factor);
    let is_late = now_ms > stop_ms + 1.0;
    let error = match outcome {
        Ok((_, output)) => {
            ensure!(!is_late, "it went on up to {now_ms}, and was to be stopped at {stop_ms}");
            let max = plan.max_output_bytes.unwrap_or(u64::MAX);
            ensure!(output.len() as u64 <= max, "{} bytes where {max} may be", output.len());
            return Ok(());
        }
        Err(error) => &**error,
    };
    let (unstopped, begun_ms) = match error {
        Error::Stopped(stopped) => {
            ensure!(now_ms >= stop_ms, "stopped at {now_ms}, before {stop_ms}");
            (&stopped.unstopped, stop_ms)
        }
        Error::OutputLimit { limit: OutputLimit::Bytes(_), unstopped, .. } => {
            let signalled = execs.iter().flat_map(|exec| exec.times_of("TERM")).next();
            (unstopped, signalled.unwrap_or(now_ms))
        }
        Error::CreateUnknown { .. } => {
            let has_waited = now_ms + 1.0 >= stop_ms + 10_000.0 * setup.timer_factor;
            ensure!(has_waited || !setup.is_survivable(), "not waited for the create's answer");
            return Ok(());
        }
        error => {
            ensure!(
                !is_late,
                "an error at {now_ms} of what was to be stopped at {stop_ms}: {error}"
            );
            return Ok(());
        }
    };
    let [exec] = execs else {
        return Ok(());
    };
    let (terms, kills) = (exec.times_of("TERM"), exec.times_of("KILL"));
    ensure!(terms.len() <= 1, "SIGTERM came {} times", terms.len());
    match unstopped {
        Some(NotStopped::StillThere) => return Err("no process survives SIGKILL".to_owned()),
        Some(NotStopped::Undelivered(error)) => {
            ensure!(is_excused(world, begun_ms), "not delivered: {error}");
        }
        None => ensure!(!has_processes(world, exec), "processes are left"),
    }
    if setup.is_calm() {
        let grace_over_ms = begun_ms + plan.grace_ms * setup.timer_factor;
        let kill_ms = plan.kill_ms(0.0, setup.timer_factor).max(begun_ms).min(grace_over_ms);
        // Without the extension `signal` a shell is started for it.
        let limit_ms = kill_ms + 1_000.0 * setup.timer_factor;
        ensure!(now_ms <= limit_ms, "it took {now_ms} ms, and {limit_ms} are allowed");
    }
    let Error::Stopped(stopped) = error else {
        return Ok(());
    };
    if let Some(kill_ms) = kills.first()
        && !plan.may_force()
    {
        let due_ms = plan.first_ms() + plan.grace_ms;
        ensure!(due_ms <= *kill_ms, "SIGKILL at {kill_ms}, and it is due at {due_ms}");
    }
    if unstopped.is_none() {
        is_forced(world, exec, stopped.forced)?;
        let (output, wrote) = (text_of(&stopped.output), exec.output());
        let is_whole = output == wrote || stopped.incomplete.is_some();
        ensure!(is_whole, "the output {output:?} of {wrote:?}");
    }
    if setup.is_calm() {
        let is_lost = exec.state().dropped > 0;
        let is_limited = matches!(stopped.incomplete.as_deref(), Some(Error::OutputLimit { .. }));
        ensure!(stopped.incomplete.is_none() || is_lost || is_limited, "output is missing");
    }
    Ok(())
}

/// Whether the faults since a time explain that a stop was not delivered, or not seen to work, within the 10 s of
/// SIGKILL. In hopeless runs, and without the extension `signal`, any may.
fn is_excused(world: &World, since_ms: f64) -> bool {
    let is_anything = !world.setup.is_survivable() || !world.setup.offers("signal");
    let drawn = world.network.faults.drawn();
    is_anything && !drawn.is_empty()
        || drawn.iter().filter(|drawn| drawn.at_ms >= since_ms).any(|drawn| match drawn.fault {
            // How to send a signal is asked for first.
            Fault::Late(_) | Fault::Delayed(_) | Fault::Stall { .. } => drawn.kind == Kind::Health,
            Fault::Status { retry_after: Some(_), acted, .. } => {
                // It is not sent again before the time that the gateway names.
                drawn.kind == Kind::Health || (!acted && drawn.content.contains("KILL"))
            }
            _ => false,
        })
}

/// `forced` says whether it took SIGKILL. Who has no answer to one may not know.
fn is_forced(world: &World, exec: &Exec, forced: bool) -> Verdict {
    let is_killed = !exec.times_of("KILL").is_empty();
    ensure!(forced || !is_killed, "SIGKILL came, and nothing says so");
    let drawn = world.network.faults.drawn();
    let is_anything = !world.setup.is_survivable() || !world.setup.offers("signal");
    let is_unknown = drawn
        .iter()
        .any(|drawn| is_anything || drawn.kind == Kind::Health || drawn.content.contains("KILL"));
    ensure!(is_killed || !forced || is_unknown, "forced, and no SIGKILL came");
    Ok(())
}

#[test]
fn terminate_leaves_no_process_of_the_group_and_returns_its_exit_code() {
    check("terminate", |world, random| {
        let force = AbortSignal::default();
        if let Some(ms) = world.maybe(random.bool().then_some(random.f64() * 8_000.0)) {
            let aborted = force.clone();
            world.after(ms, "force", move || aborted.controller().abort(None));
        }
        let force_signal = Some(force);
        let options = TerminateOptions { grace_ms: random.f64() * 15_000.0, force_signal };
        let program = world.program(random);
        let (exec, result) =
            call_later(world, program, random, |client, id| terminate(&client, id, options))?;
        match result {
            Ok(terminated) => {
                let truth = exec.state().exit_code;
                ensure!(!has_processes(world, &exec), "processes are left");
                ensure!(terminated.exit_code == truth, "{terminated:?} where it is {truth}");
                is_forced(world, &exec, terminated.forced)?;
            }
            Err(error) => {
                let is_still_there = matches!(*error, Error::StillThere(_));
                ensure!(!is_still_there, "no process survives SIGKILL");
                // A signal that can't be delivered, or seen to work, in time is no mistake of the client's.
                let is_undelivered =
                    error.is_failed_request() || matches!(*error, Error::Protocol { .. });
                let is_excused = is_undelivered && is_excused(world, 0.0);
                ensure!(is_excused || !world.setup.is_survivable(), "not survived: {error}");
            }
        }
        Ok(())
    });
}

#[test]
fn kill_sends_one_signal_or_says_why_not() {
    check("kill", |world, random| {
        let program = world.program(random);
        let (exec, result) = call_later(world, program, random, |client, id| {
            kill(&client, &id, "SIGTERM".to_owned())
        })?;
        let count = exec.times_of("TERM").len();
        ensure!(count <= 1, "it came {count} times");
        match result {
            Ok(()) => ensure!(count == 1, "it was sent, and did not come"),
            Err(error) if world.setup.is_calm() => {
                ensure!(error.status() == Some(409), "not sent: {error}");
                ensure!(count == 0, "it came, and the error denies it: {error}");
            }
            Err(_) => {}
        }
        Ok(())
    });
}
