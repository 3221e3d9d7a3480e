//! The commands by which a client signals processes: a group where the extension `signal` is missing, and all but the
//! shell of a session.

use std::rc::Rc;

use sandpipe_protocol::CreateExecRequest;

use super::SimAgent;
use super::exec::Exec;
use super::program::Program;

/// What the signals to all others than the shell of a session are in its queue: SIGKILL for them, SIGINT for itself.
pub(crate) const KILL_OTHERS: &str = "KILL OTHERS";

/// What `sh -c SCRIPT sh SIGNAL PID` does, if this is it: the script calls `kill`.
pub(super) fn program(agent: &Rc<SimAgent>, request: &CreateExecRequest) -> Option<Program> {
    let CreateExecRequest { command, args, .. } = request;
    if let [_, script, _, pid] = args.as_slice()
        && script.contains("/proc/[0-9]*/stat")
    {
        let exec = exec_with(agent, pid)?;
        let now_ms = agent.executor.now_ms();
        exec.change(|state| {
            state.signals.push_back(KILL_OTHERS.to_owned());
            state.signalled.push((now_ms, KILL_OTHERS.to_owned()));
        });
        return Some(Program::exit(0));
    }
    let [option, script, _, signal, pid] = args.as_slice() else {
        return None;
    };
    if command != "sh" || option != "-c" || !script.contains(r#"kill "-$1" "-$2""#) {
        return None;
    }
    if exec_with(agent, pid).is_some_and(|exec| agent.signal(&exec, signal)) {
        return Some(Program::exit(0));
    }
    Some(Program::write("sh: 1: kill: No such process\n", 1))
}

fn exec_with(agent: &SimAgent, pid: &str) -> Option<Rc<Exec>> {
    let pid: u32 = pid.parse().ok()?;
    agent.execs.borrow().values().find(|exec| exec.state().pid == pid).cloned()
}
