//! What has to be true after each run: the four promises, as code.

use std::rc::Rc;

use sandpipe_client::error::{OutputLimit, StopReason, Stopped};
use sandpipe_client::{Error, HostOutput};

use crate::agent::exec::Exec;
use crate::executor::Owner;
use crate::host::text_of;
use crate::retry_hooks::HookFailed;
use crate::runner::Verdict;
use crate::world::World;

/// Returns whether a call was given up by an abort with a reason of this type.
pub(crate) fn was_aborted<Reason: 'static>(error: &Error) -> bool {
    let Error::Stopped(Stopped { why: StopReason::Interrupted { reason: Some(reason) }, .. }) =
        error
    else {
        return false;
    };
    reason.downcast_ref::<Reason>().is_some()
}

/// Fails with what is wrong unless something is true.
macro_rules! ensure {
    ($holds:expr, $($problem:tt)+) => {{
        let holds: bool = $holds;
        if !holds {
            return Err(format!($($problem)+));
        }
    }};
}
pub(crate) use ensure;

/// What a call returns of a command: its exit code and its output, or an error.
pub(crate) type Outcome = Result<(i32, String), Box<Error>>;

/// 1 and 2. A true exit code and every byte once, or an error that is true as well.
///
/// `execs` are the execs that there were of the command. The command was created by this very call if
/// `is_created_here`; it was to be stopped if `is_stopped`.
pub(crate) fn outcome_is_true(
    world: &World,
    execs: &[Rc<Exec>],
    outcome: &Outcome,
    is_created_here: bool,
    is_stopped: bool,
) -> Verdict {
    let error = match outcome {
        Ok((exit_code, output)) => {
            let [exec] = execs else {
                return Err("an exit code of no command".to_owned());
            };
            let truth = exec.state().exit_code;
            ensure!(*exit_code == truth, "the exit code {exit_code} where it is {truth}");
            let wrote = exec.output();
            ensure!(*output == wrote, "the output {output:?} where it is {wrote:?}");
            return Ok(());
        }
        Err(error) => error,
    };
    let is_survived = match &**error {
        Error::OutputLost { exec_id, from, to, output, exit_code, .. } => {
            let exec = exec_with(execs, exec_id)?;
            is_prefix(exec, output)?;
            let (dropped, truth) = (exec.state().dropped as u64, exec.state().exit_code);
            ensure!(1 <= *from && from <= to && *to <= dropped, "{from} to {to} are not lost");
            ensure!(exit_code.is_none_or(|code| code == truth), "an untrue exit code in an error");
            true
        }
        Error::OutputLimit { exec_id, limit, output, .. } => {
            let exec = exec_with(execs, exec_id)?;
            is_prefix(exec, output)?;
            let length = exec.output().encode_utf16().count() as u64;
            match limit {
                OutputLimit::String(max) => ensure!(length > u64::from(*max), "it fits"),
                OutputLimit::Array(max) => return Err(format!("no bytes are asked for: {max}")),
                OutputLimit::Bytes(max) => ensure!(exec.output().len() as u64 > *max, "it fits"),
            }
            true
        }
        Error::ExitCodeMissing { exec_id, output, .. } => {
            is_prefix(exec_with(execs, exec_id)?, output)?;
            false
        }
        Error::CreateUnknown { .. } => {
            ensure!(is_created_here, "a create that is not known, and was not asked for");
            // Who wants it stopped does not wait for an agent that does not answer.
            is_stopped
        }
        Error::Stopped(stopped) => {
            if let Some(id) = &stopped.exec_id {
                is_prefix(exec_with(execs, id)?, &stopped.output)?;
            } else {
                ensure!(execs.is_empty(), "not started, and it was");
            }
            is_stopped || {
                let is_of_input = matches!(stopped.why, StopReason::InputLost { .. });
                ensure!(is_of_input, "stopped, and nobody asked for that");
                false
            }
        }
        Error::Http { .. } | Error::Network { .. } | Error::Protocol { .. } => {
            let is_unknown = is_created_here && !execs.is_empty();
            ensure!(!is_unknown, "the command runs, and the error has no id");
            false
        }
        Error::Unsupported { .. } => {
            ensure!(execs.is_empty(), "not supported, and yet it runs");
            !world.setup.offers("stdin-eof")
        }
        Error::Thrown(cause) => {
            ensure!(cause.downcast_ref::<HookFailed>().is_some(), "nothing has thrown: {error}");
            false
        }
        error => return Err(format!("no way for a command to end: {error}")),
    };
    ensure!(is_survived || !world.setup.is_survivable(), "not survived: {error}");
    Ok(())
}

/// 3. A command runs once at most.
pub(crate) fn runs_once(execs: &[Rc<Exec>]) -> Verdict {
    ensure!(execs.len() <= 1, "it was started {} times", execs.len());
    Ok(())
}

/// Whether processes of an exec are left that a client can signal. Without the extension `signal` it can't once the
/// first of them has ended: its number may be another's.
pub(crate) fn has_processes(world: &World, exec: &Exec) -> bool {
    let knows_extension = world.setup.offers("signal") && world.setup.is_survivable();
    let state = exec.state();
    state.has_processes(world.executor.now_ms()) && (knows_extension || !state.has_ended())
}

/// Nothing goes on when a call is over, and nothing was asked too often.
pub(crate) fn nothing_is_left(world: &World) -> Verdict {
    let seconds = world.executor.now_ms() / 1000.0;
    let requests = f64::from(world.network.requests());
    ensure!(requests <= 60.0 + 5.0 * seconds, "{requests} requests in {seconds} s");
    // A function of the caller's may shorten a pause.
    if world.setup.is_survivable() && !world.setup.has_hooks {
        let early = world.network.faults.early();
        ensure!(early.is_empty(), "made before the server's time: {early:?}");
    }
    // A command of the client's own is followed to its end, whatever goes wrong.
    let fails_early = !world.setup.keeps_all_events() || world.setup.max_text_length < 2000;
    let is_quick = world.setup.is_calm() && !fails_early;
    let settling_ms = if is_quick { 2_500.0 } else { 900_000.0 };
    world.run(world.executor.sleep(settling_ms))?;
    let tasks = world.executor.count_tasks(Owner::Client);
    ensure!(tasks == 0, "{tasks} tasks of the client go on");
    let connections = world.network.connections();
    ensure!(connections == 0, "{connections} connections are open");
    if world.setup.is_calm() {
        let internal = world.agent.items().iter().filter(|item| item.command == "sh").count();
        ensure!(internal == 0, "{internal} execs of the client's own are left");
    }
    Ok(())
}

fn exec_with<'a>(execs: &'a [Rc<Exec>], id: &str) -> Result<&'a Exec, String> {
    let exec = execs.iter().find(|exec| exec.id == id);
    exec.map(|exec| &**exec).ok_or_else(|| format!("the error names exec {id}, which it is not"))
}

fn is_prefix(exec: &Exec, output: &HostOutput) -> Verdict {
    let (output, wrote) = (text_of(output), exec.output());
    ensure!(wrote.starts_with(&output), "the error has the output {output:?}, of {wrote:?}");
    Ok(())
}
