//! An agent that obeys the agent's interface. Its commands are programs of the simulation.

pub(crate) mod exec;
pub(crate) mod files;
pub(crate) mod kill;
mod output_form;
pub(crate) mod ports;
mod process;
pub(crate) mod program;
pub(crate) mod response;
mod routes;
pub(crate) mod shell;
mod streams;
pub(crate) mod watched;
pub(crate) mod websocket;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use sandpipe_client::host::RequestBody;
use sandpipe_protocol::{CreateExecRequest, ExecItem, ExecStatus};

use crate::executor::{Executor, Owner};
use crate::setup::Setup;
use exec::{Exec, Waiting};
use files::SimFiles;
use ports::SimPorts;
use program::Program;
use watched::SimWatched;

/// A create with a key: its body, and the exec.
type Created = (Option<RequestBody>, Rc<Exec>);

/// An agent.
pub(crate) struct SimAgent {
    executor: Executor,
    setup: Rc<Setup>,
    /// The commands there are, by their names.
    programs: RefCell<BTreeMap<String, Program>>,
    /// By their ids, which are in the order of their creation. Those that were deleted are here, too.
    execs: RefCell<BTreeMap<String, Rc<Exec>>>,
    /// The creates with an idempotency key: their bodies, and the execs.
    keys: RefCell<BTreeMap<String, Created>>,
    created: Cell<u32>,
    /// How many outputs have been asked for.
    pub(super) outputs: Cell<u32>,
    pub(crate) files: SimFiles,
    pub(crate) ports: SimPorts,
    pub(crate) watched: SimWatched,
    /// Woken when the list of execs changes.
    readers: Waiting,
}

impl SimAgent {
    pub(crate) fn new(executor: Executor, setup: Rc<Setup>) -> Rc<Self> {
        let (programs, execs, keys, created, outputs, readers) = Default::default();
        let (files, ports, watched) = Default::default();
        Rc::new(Self {
            executor,
            setup,
            programs,
            execs,
            keys,
            created,
            outputs,
            files,
            ports,
            watched,
            readers,
        })
    }

    /// Makes a program available as a command.
    pub(crate) fn install(&self, command: &str, program: Program) {
        self.programs.borrow_mut().insert(command.to_owned(), program);
    }

    /// The programs, for whoever looks for the reason of a failure.
    pub(crate) fn describe_programs(&self) -> String {
        format!("{:#?}", self.programs.borrow())
    }

    /// The exec with this id.
    pub(crate) fn exec(&self, id: &str) -> Option<Rc<Exec>> {
        self.execs.borrow().get(id).filter(|exec| !exec.state().is_deleted).cloned()
    }

    /// All execs that there are, newest first.
    pub(crate) fn items(&self) -> Vec<ExecItem> {
        let execs = self.execs.borrow();
        let left = execs.values().rev().filter(|exec| !exec.state().is_deleted);
        left.map(|exec| exec.item()).collect()
    }

    /// All execs that there have been of a command.
    pub(crate) fn execs_of(&self, command: &str) -> Vec<Rc<Exec>> {
        let execs = self.execs.borrow();
        execs.values().filter(|exec| exec.request.command == command).cloned().collect()
    }

    /// Creates an exec, and starts it unless it is to wait.
    pub(crate) fn create(self: &Rc<Self>, request: CreateExecRequest) -> Rc<Exec> {
        let number = self.created.get() + 1;
        self.created.set(number);
        let is_started = request.autostart != Some(false);
        // What a client runs for itself writes a line at most.
        let max_events = if request.command == "sh" { usize::MAX } else { self.setup.max_events };
        let exec = Rc::new(Exec::new(number, request, max_events));
        self.execs.borrow_mut().insert(exec.id.clone(), exec.clone());
        if is_started {
            self.start(&exec);
        }
        self.readers.wake();
        exec
    }

    fn start(self: &Rc<Self>, exec: &Rc<Exec>) {
        exec.change(|state| state.status = self.setup.running.clone());
        let program = kill::program(self, &exec.request)
            .or_else(|| self.programs.borrow().get(&exec.request.command).cloned())
            .unwrap_or_else(|| Program::exit(127));
        let (agent, exec) = (self.clone(), exec.clone());
        self.executor.spawn(Owner::Simulation, async move {
            if exec.request.command == shell::SHELL {
                shell::run(&agent, &exec).await;
            } else {
                process::run(&agent.executor, &exec, program).await;
            }
            agent.readers.wake();
        });
    }

    /// Sends a signal, without its `SIG`, to a process group; false where there is none.
    pub(crate) fn signal(&self, exec: &Exec, signal: &str) -> bool {
        let now_ms = self.executor.now_ms();
        if !exec.state().has_processes(now_ms) {
            return false;
        }
        if signal != "0" {
            exec.change(|state| {
                state.signals.push_back(signal.to_owned());
                state.signalled.push((now_ms, signal.to_owned()));
                if matches!(signal, "TERM" | "KILL") {
                    state.others.retain(|(_, other)| signal == "TERM" && other.ignores_term);
                    if !state.has_ended() {
                        state.status = ExecStatus::Stopping;
                    }
                }
            });
            self.readers.wake();
        }
        true
    }

    /// Forgets all execs of a command, as an agent that is started again.
    pub(crate) fn forget(&self, command: &str) {
        for exec in self.execs_of(command) {
            self.signal(&exec, "KILL");
            exec.change(|state| state.is_deleted = true);
        }
        self.readers.wake();
    }

    /// Ends an exec's processes and forgets it.
    pub(crate) async fn delete(&self, exec: &Exec) {
        self.signal(exec, "KILL");
        exec.wait_for(|state| (!state.has_processes(f64::INFINITY)).then_some(())).await;
        exec.change(|state| state.is_deleted = true);
        self.readers.wake();
    }
}
