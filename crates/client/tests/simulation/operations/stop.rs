//! `exec` with something that asks for a stop: one interrupt or two, a timeout, too much output.

use std::rc::Rc;

use sandpipe_client::abort::AbortSignal;
use sandpipe_client::error::{Error, NotStopped, OutputLimit};
use sandpipe_client::execs::exec::ExecArguments;
use sandpipe_client::execs::exec::exec;
use sandpipe_client::execs::wait_options::WaitOptions;

use super::{COMMAND, command, told};
use crate::agent::exec::Exec;
use crate::agent::program::{Program, Step};
use crate::faults::Budget;
use crate::host::text_of;
use crate::invariants::{Told, ensure, has_processes, outcome_is_true, runs_once};
use crate::runner::{Verdict, check};
use crate::world::World;

/// When a stop is asked for, in milliseconds, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    interrupt_ms: Option<f64>,
    force_ms: Option<f64>,
    timeout_ms: Option<f64>,
    grace_ms: f64,
    pub(super) max_output_bytes: Option<u64>,
}

impl Plan {
    pub(super) fn of(random: &mut fastrand::Rng) -> Self {
        let time = |random: &mut fastrand::Rng| {
            let longest = if random.bool() { 40.0 } else { 30_000.0 };
            random.f64() * longest
        };
        let maybe = |random: &mut fastrand::Rng| random.bool().then(|| time(random));
        Self {
            interrupt_ms: maybe(random),
            force_ms: maybe(random),
            timeout_ms: maybe(random),
            grace_ms: if random.bool() { 10_000.0 } else { random.f64() * 20_000.0 },
            max_output_bytes: (random.u8(..8) == 0).then(|| random.u64(..200)),
        }
    }

    /// When the first stop is asked for.
    pub(super) fn first_ms(&self) -> f64 {
        let times = [self.interrupt_ms, self.force_ms, self.timeout_ms];
        times.into_iter().flatten().fold(f64::INFINITY, f64::min)
    }

    /// Whether more than one thing asks for a stop: the second one forces.
    pub(super) fn may_force(&self) -> bool {
        let times = [self.interrupt_ms, self.force_ms, self.timeout_ms];
        self.force_ms.is_some() || times.into_iter().flatten().count() > 1
    }

    pub(super) fn options(&self, world: &World) -> WaitOptions {
        let signal = |ms: Option<f64>| {
            ms.map(|ms| {
                let signal = AbortSignal::default();
                let aborted = signal.clone();
                world.after(ms, move || aborted.controller().abort(None));
                signal
            })
        };
        WaitOptions {
            signal: signal(self.interrupt_ms),
            force_signal: signal(self.force_ms),
            timeout_ms: self.timeout_ms,
            grace_ms: self.grace_ms,
            listener: None,
            max_output_bytes: self.max_output_bytes,
        }
    }
}

#[test]
fn what_is_told_to_stop_stops() {
    check("exec_stopped", |world, random| {
        let mut program = Program::of(random);
        if random.bool() {
            program.steps.push(Step::Pause(3_600_000.0));
        }
        world.agent.install(COMMAND, program);
        let plan = Plan::of(random);
        let options = plan.options(world);
        let arguments = ExecArguments { request: command(), input: None, options };
        let client = world.client();
        let told = world
            .run(async move { told(exec(&client, arguments).await.map(|(_, result)| result)) })?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        outcome_is_true(world, &execs, &told, true, plan.first_ms().is_finite())?;
        is_stopped(world, &execs, &told, &plan).map_err(|problem| format!("{problem}; {plan:?}"))
    });
}

/// 4. What is told to stop, stops.
fn is_stopped(world: &World, execs: &[Rc<Exec>], told: &Told, plan: &Plan) -> Verdict {
    let is_calm = world.setup.budget == Budget::None;
    let now_ms = world.executor.now_ms();
    let ([exec], Err(error)) = (execs, told) else {
        return Ok(());
    };
    let has_processes = has_processes(world, exec);
    let stopped = match &**error {
        Error::Stopped(stopped) => stopped,
        Error::OutputLimit { limit: OutputLimit::Bytes(_), unstopped, .. } => {
            ensure!(unstopped.is_some() || !has_processes, "processes are left");
            return Ok(());
        }
        _ => return Ok(()),
    };
    let signals = exec.look(|state| state.signalled.clone());
    let times = |name: &str| {
        let of_name = signals.iter().filter(|(_, signal)| signal == name);
        of_name.map(|(ms, _)| *ms).collect::<Vec<f64>>()
    };
    let (terms, kills) = (times("TERM"), times("KILL"));
    ensure!(terms.len() <= 1, "SIGTERM came {} times", terms.len());
    if let Some(kill_ms) = kills.first()
        && !plan.may_force()
    {
        let due_ms = plan.first_ms() + plan.grace_ms;
        ensure!(due_ms <= *kill_ms, "SIGKILL at {kill_ms}, and it is due at {due_ms}");
    }
    match &stopped.unstopped {
        Some(NotStopped::StillThere) => {
            return Err("no process survives SIGKILL".to_owned());
        }
        Some(NotStopped::Undelivered(error)) => ensure!(!is_calm, "not delivered: {error}"),
        None => {
            ensure!(!has_processes, "processes are left");
            ensure!(stopped.forced || kills.is_empty(), "SIGKILL came, and is not told");
            let (output, wrote) = (text_of(&stopped.output), exec.output());
            let is_whole = output == wrote || stopped.incomplete.is_some();
            ensure!(is_whole, "the output {output:?} of {wrote:?}");
        }
    }
    if is_calm {
        let is_lost = exec.look(|state| state.dropped > 0);
        let is_limited = matches!(stopped.incomplete.as_deref(), Some(Error::OutputLimit { .. }));
        ensure!(stopped.incomplete.is_none() || is_lost || is_limited, "output is missing");
        let factor = world.setup.surroundings.timer_factor;
        let limit_ms = (plan.first_ms() + plan.grace_ms + 11_000.0) * factor;
        ensure!(now_ms <= limit_ms, "it took {now_ms} ms, and {limit_ms} are allowed");
    }
    Ok(())
}
