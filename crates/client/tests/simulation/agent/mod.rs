//! An agent that obeys the agent's interface. Its commands are programs of the simulation.

pub(crate) mod exec;
mod kill;
mod process;
pub(crate) mod program;
pub(crate) mod response;
mod routes;
pub(crate) mod shell;
mod streams;
#[cfg(test)]
mod tests;
pub(crate) mod websocket;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus, OutputType};

use crate::executor::{Executor, Owner};
use exec::Exec;
use program::Program;

/// The extensions of the agent's interface.
pub(crate) const FEATURES: [&str; 7] =
    ["idempotency-key", "signal", "stdin-eof", "gap", "attach", "create-stream", "list-changes"];

/// An agent.
pub(crate) struct SimAgent {
    executor: Executor,
    features: BTreeSet<&'static str>,
    /// The most events that are kept of an exec.
    max_events: usize,
    /// What it says of an exec that runs: other agents have words of their own.
    running: ExecStatus,
    /// The commands there are, by their names.
    programs: RefCell<BTreeMap<String, Program>>,
    /// By their ids, which are in the order of their creation.
    execs: RefCell<BTreeMap<String, Rc<Exec>>>,
    /// Those that were deleted.
    deleted: RefCell<Vec<Rc<Exec>>>,
    /// The creates with an idempotency key: their bodies, and the execs.
    keys: RefCell<BTreeMap<String, (String, Rc<Exec>)>>,
    created: Cell<u32>,
    waiting: RefCell<Vec<Waker>>,
}

impl SimAgent {
    pub(crate) fn new(
        executor: Executor,
        features: BTreeSet<&'static str>,
        max_events: usize,
        running: ExecStatus,
    ) -> Rc<Self> {
        Rc::new(Self {
            executor,
            features,
            max_events,
            running,
            programs: RefCell::default(),
            execs: RefCell::default(),
            deleted: RefCell::default(),
            keys: RefCell::default(),
            created: Cell::default(),
            waiting: RefCell::default(),
        })
    }

    /// Makes a program available as a command.
    pub(crate) fn install(&self, command: &str, program: Program) {
        self.programs.borrow_mut().insert(command.to_owned(), program);
    }

    /// Whether it offers an extension.
    pub(crate) fn offers(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }

    /// Whether it never drops an event.
    pub(crate) fn keeps_all_events(&self) -> bool {
        self.max_events == usize::MAX
    }

    /// The exec with this id.
    pub(crate) fn exec(&self, id: &str) -> Option<Rc<Exec>> {
        self.execs.borrow().get(id).cloned()
    }

    /// All execs that there are, newest first.
    pub(crate) fn items(&self) -> Vec<ExecItem> {
        self.execs.borrow().values().rev().map(|exec| exec.item()).collect()
    }

    /// All execs that there have been of a command.
    pub(crate) fn execs_of(&self, command: &str) -> Vec<Rc<Exec>> {
        let (execs, deleted) = (self.execs.borrow(), self.deleted.borrow());
        let all = execs.values().chain(deleted.iter());
        all.filter(|exec| exec.request.command == command).cloned().collect()
    }

    /// Creates an exec, and starts it unless it is to wait.
    pub(crate) fn create(self: &Rc<Self>, request: CreateExecRequest) -> Rc<Exec> {
        let number = self.created.get() + 1;
        self.created.set(number);
        let is_started = request.autostart != Some(false);
        // What a client runs for itself writes a line at most.
        let max_events = if request.command == "sh" { usize::MAX } else { self.max_events };
        let exec = Exec::new(format!("exec-{number:06}"), 1000 + number, request, max_events);
        let exec = Rc::new(exec);
        self.execs.borrow_mut().insert(exec.id.clone(), exec.clone());
        if is_started {
            self.start(&exec);
        }
        self.tell();
        exec
    }

    fn start(self: &Rc<Self>, exec: &Rc<Exec>) {
        exec.change(|state| state.status = self.running.clone());
        let program = kill::program(self, &exec.request)
            .or_else(|| self.programs.borrow().get(&exec.request.command).cloned());
        let (agent, exec) = (self.clone(), exec.clone());
        self.executor.spawn(Owner::Simulation, async move {
            if exec.request.command == shell::SHELL {
                shell::run(&agent, &exec).await;
                return agent.tell();
            }
            let program = program.unwrap_or_else(|| Program {
                steps: vec![program::Step::Write(OutputType::Stderr, "not found\n".to_owned())],
                ..Program::exit(127)
            });
            process::run(&agent.executor, &exec, program).await;
            agent.tell();
        });
    }

    /// Sends a signal, without its `SIG`, to a process group; false where there is none.
    pub(crate) fn signal(&self, exec: &Exec, signal: &str) -> bool {
        let now_ms = self.executor.now_ms();
        if !exec.look(|state| state.has_processes(now_ms)) {
            return false;
        }
        if signal != "0" {
            exec.change(|state| {
                state.signals.push_back(signal.to_owned());
                state.signalled.push((now_ms, signal.to_owned()));
                if matches!(signal, "TERM" | "KILL") {
                    state.others_live_until = 0.0;
                    if !state.has_ended() {
                        state.status = ExecStatus::Stopping;
                    }
                }
            });
            self.tell();
        }
        true
    }

    /// Ends an exec's processes and forgets it.
    pub(crate) async fn delete(&self, exec: &Rc<Exec>) {
        self.signal(exec, "KILL");
        exec.wait_for(|state| (!state.has_processes(f64::INFINITY)).then_some(())).await;
        if self.execs.borrow_mut().remove(&exec.id).is_some() {
            self.deleted.borrow_mut().push(exec.clone());
        }
        exec.change(|state| state.is_deleted = true);
        self.tell();
    }

    /// Waits until there is something; looked for whenever the list of execs has changed.
    async fn wait_for<T>(&self, mut find: impl FnMut() -> Option<T>) -> T {
        poll_fn(|context| {
            if let Some(found) = find() {
                return Poll::Ready(found);
            }
            self.waiting.borrow_mut().push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// The list of execs has changed.
    fn tell(&self) {
        self.waiting.take().into_iter().for_each(Waker::wake);
    }
}
