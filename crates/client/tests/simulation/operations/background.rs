//! Background processes: a script is started once, its output read once, and what is not known is said.

use std::rc::Rc;

use futures_util::future::join3;
use sandpipe_client::background::{
    Background, BackgroundProcess, BackgroundStatus, BackgroundWaitOptions, Location, ProcessId,
    ReadOptions, RunOptions, SpawnOptions, Start, Stream,
};
use sandpipe_client::{AbortSignal, Error, HostValue, Result};
use sandpipe_protocol::OutputType;

use super::COMMAND;
use crate::agent::SimAgent;
use crate::agent::exec::Exec;
use crate::executor::Executor;
use crate::faults::Fault;
use crate::invariants::{ensure, runs_once, was_aborted};
use crate::runner::{Verdict, check};
use crate::target::{RuntimeFailed, SimRuntime, SimTarget};
use crate::world::World;

/// How often a caller asks again where a runtime fails.
const MAX_CALLS: usize = 50;

fn background(world: &World) -> Background {
    let runtime = Rc::new(SimRuntime(SimTarget::new(world)));
    Background::new(runtime, world.host.clone(), Location::default())
}

/// The stdout of a command.
fn stdout(exec: &Exec) -> String {
    let state = exec.state();
    let events = state.events.iter().filter(|event| event.kind == OutputType::Stdout);
    events.map(|event| event.output.as_str()).collect()
}

#[test]
fn a_process_is_started_once_read_once_stopped_and_removed() {
    check("background", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        let background = background(world);
        let spawned = world.run(background.spawn(COMMAND.to_owned(), SpawnOptions::default()))?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        let process = match spawned {
            Ok(process) => process,
            Err(error) => return is_true_of_start(world, &execs, &error),
        };
        let exec = execs[0].clone();
        ensure!(process.pid == exec.state().pid, "{process:?}");
        let id = ProcessId::parse(process.id).expect("an id");
        let max_bytes = 4 << random.u32(..10);
        let stop_ms = world.maybe(random.bool().then_some(random.f64() * 60_000.0));
        let grace_ms = random.f64() * 15_000.0;
        let abort_ms = world.maybe((random.u8(..4) == 0).then(|| random.f64() * 30_000.0));
        let signal = abort_ms.map(|ms| abort_after(world, ms));
        let story = {
            let (executor, agent) = (world.executor.clone(), world.agent.clone());
            let (background, id, exec) = (background.clone(), id.clone(), exec.clone());
            async move {
                let reading = read_all(&background, &id, max_bytes);
                let stopping = stop(&background, &id, stop_ms, grace_ms, &executor, &agent, &exec);
                let waiting =
                    background.wait(id.clone(), BackgroundWaitOptions { timeout_ms: 1e6, signal });
                let waiting = async { (waiting.await, executor.now_ms()) };
                join3(reading, stopping, waiting).await
            }
        };
        let (before, begin_ms) = (failures(world), world.executor.now_ms());
        let (output, stopped, (waited, waited_ms)) = world.run(story)?;
        match waited.map_err(|error| *error) {
            Err(ref error) if was_aborted::<Aborted>(error) => {
                ensure!(stop_ms.is_some() || exec.state().signalled.is_empty(), "it was stopped");
            }
            waited => {
                let due_ms = abort_ms.map_or(f64::INFINITY, |ms| begin_ms + ms);
                ensure!(waited_ms <= due_ms + 1.0, "it waits up to {waited_ms}, not {due_ms}");
                ensure!(waited.is_ok() || failures(world) > before, "not waited: {waited:?}");
            }
        }
        let stop_error = stopped?.err();
        let is_excused = stop_error.is_none() || failures(world) > before;
        ensure!(is_excused, "not terminated: {stop_error:?}");
        let truth = stdout(&exec);
        match output {
            Ok(output) => ensure!(output == truth, "{output:?} where it is {truth:?}"),
            Err(error) => ensure!(failures(world) > before + MAX_CALLS, "not read: {error}"),
        }
        let options = BackgroundWaitOptions { timeout_ms: 100_000.0, signal: None };
        let before = failures(world);
        let waited = world.run(background.wait(id.clone(), options))?;
        has_ended(world, &exec, before, waited)?;
        let before = failures(world);
        has_ended(world, &exec, before, world.run(background.get(id.clone()))?)?;
        let before = failures(world);
        let listed = world.run(background.list())?;
        match listed.map(<[BackgroundProcess; 1]>::try_from) {
            Ok(Ok([process])) => has_ended(world, &exec, before, Ok(process))?,
            Ok(Err(processes)) => return Err(format!("the list has {processes:?}")),
            Err(error) => ensure!(failures(world) > before, "not listed: {error}"),
        }
        let is_left = || exec.state().has_processes(world.executor.now_ms());
        let (was_left, before) = (is_left(), failures(world));
        match world.run(background.remove(id.clone()))? {
            Ok(()) => {
                ensure!(!is_left(), "removed, and something of it runs");
                let gone = world.run(background.get(id))?;
                let is_gone = gone.is_err_and(|error| matches!(*error, Error::NotFound { .. }));
                ensure!(is_gone || failures(world) > before, "removed, and it is there");
            }
            Err(error) => {
                ensure!(was_left || failures(world) > before, "not removed: {error}");
            }
        }
        Ok(())
    });
}

#[test]
fn a_command_is_run_once_to_its_end() {
    check("background_run", |world, random| {
        world.agent.install(COMMAND, world.program(random));
        let wait_timeout_ms = random.f64() * if random.bool() { 1e6 } else { 1e3 };
        let max_output_bytes = world.maybe(random.bool().then(|| random.u64(..500)));
        let options = RunOptions {
            spawn: SpawnOptions::default(),
            wait_timeout_ms,
            check: false,
            captures_exit_code: true,
            max_output_bytes,
            ignores_output: false,
            output_file: None,
        };
        let result = world.run(background(world).run(COMMAND.to_owned(), options))?;
        let execs = world.agent.execs_of(COMMAND);
        runs_once(&execs)?;
        let result = match result {
            Ok(result) => result,
            Err(error) => return is_true_of_start(world, &execs, &error),
        };
        let exec = &execs[0];
        let truth = exec.state().exit_code;
        match &result.failure_reason {
            None => ensure!(result.exit_code == truth, "{result:?}: it is {truth}"),
            Some(reason) => ensure!(reason.contains("still runs"), "{reason}"),
        }
        let (output, written) = (&result.output, stdout(exec));
        let limit = max_output_bytes.unwrap_or(u64::MAX);
        ensure!(written.starts_with(output), "{output:?} of {written:?}");
        ensure!(output.len() as u64 <= limit, "{} bytes where {limit} may be", output.len());
        let is_whole = output.len() + 4 > written.len().min(usize::try_from(limit).expect("small"));
        ensure!(
            is_whole || result.failure_reason.is_some(),
            "{output:?} is not all of {written:?}"
        );
        Ok(())
    });
}

/// Why a wait is given up.
#[derive(Debug)]
struct Aborted;

/// A signal that is aborted after so many milliseconds.
fn abort_after(world: &World, ms: f64) -> AbortSignal {
    let signal = AbortSignal::default();
    let aborted = signal.clone();
    let abort = move || aborted.controller().abort(Some(HostValue::new(Aborted)));
    world.after(ms, "give up the wait", abort);
    signal
}

/// How many scripts have failed so far, or have answers that are cut off. Each may make a call fail.
fn failures(world: &World) -> usize {
    let drawn = world.network.faults.drawn();
    drawn.iter().filter(|drawn| !matches!(drawn.fault, Fault::Late(_) | Fault::Delayed(_))).count()
}

/// An error of what starts a process: one that may run has an id to ask again with.
fn is_true_of_start(world: &World, execs: &[Rc<Exec>], error: &Error) -> Verdict {
    ensure!(failures(world) > 0, "not started: {error}");
    let cause = match error {
        Error::Thrown(cause) => {
            ensure!(execs.is_empty(), "it runs, and the error has no id: {error}");
            Some(cause)
        }
        Error::Background { id: Some(_), cause, .. } => cause.as_ref(),
        error => return Err(format!("an error without an id: {error}")),
    };
    let is_of_runtime = cause.is_none_or(|cause| cause.downcast_ref::<RuntimeFailed>().is_some());
    ensure!(is_of_runtime, "the cause is not what the runtime threw");
    Ok(())
}

/// Reads all output, piece by piece, as a caller who tries again where a read fails.
async fn read_all(background: &Background, id: &ProcessId, max_bytes: u64) -> Result<String> {
    let (mut output, mut offset, mut failures) = (String::new(), 0, 0);
    loop {
        let options = ReadOptions {
            stream: Stream::Stdout,
            start: Start::Offset(offset),
            max_bytes,
            filter: None,
            wait_ms: 50_000.0,
        };
        match background.read_output(id.clone(), options).await {
            Ok(chunk) => {
                output.push_str(&chunk.output);
                let is_last =
                    chunk.next_offset == offset && chunk.status != BackgroundStatus::Running;
                offset = chunk.next_offset;
                if is_last {
                    return Ok(output);
                }
            }
            Err(error) if failures == MAX_CALLS => return Err(error),
            Err(_) => failures += 1,
        }
    }
}

/// Stops a process after so many milliseconds, if it is to be stopped; one that can't be stopped is killed.
async fn stop(
    background: &Background,
    id: &ProcessId,
    stop_ms: Option<f64>,
    grace_ms: f64,
    executor: &Executor,
    agent: &SimAgent,
    exec: &Exec,
) -> std::result::Result<Result<()>, String> {
    let Some(stop_ms) = stop_ms else {
        return Ok(Ok(()));
    };
    executor.sleep(stop_ms).await;
    let result = background.terminate(id.clone(), grace_ms).await;
    let is_left = exec.state().has_processes(executor.now_ms());
    let terms = exec.times_of("TERM").len();
    ensure!(terms <= 1, "SIGTERM came {terms} times");
    if let (Some(term_ms), Some(kill_ms)) =
        (exec.times_of("TERM").first(), exec.times_of("KILL").first())
    {
        ensure!(*kill_ms + 1.0 >= term_ms + grace_ms, "SIGKILL after {}", kill_ms - term_ms);
    }
    match result {
        Ok(process) => {
            ensure!(process.status != BackgroundStatus::Running, "terminated, and {process:?}");
            ensure!(!is_left, "terminated, and processes are left");
            Ok(Ok(()))
        }
        Err(error) => {
            agent.signal(exec, "KILL");
            Ok(Err(error))
        }
    }
}

/// What a call says of a process that has ended, where so many scripts had failed `before`.
fn has_ended(
    world: &World,
    exec: &Exec,
    before: usize,
    process: Result<BackgroundProcess>,
) -> Verdict {
    let (has_ended, truth) = (exec.state().has_ended(), exec.state().exit_code);
    match process {
        Ok(process) if process.status == BackgroundStatus::Running => {
            ensure!(!has_ended, "it has ended, and {process:?}");
        }
        Ok(process) => ensure!(process.exit_code == Some(truth), "{process:?}: {truth}"),
        Err(error) => ensure!(failures(world) > before, "not looked at: {error}"),
    }
    Ok(())
}
