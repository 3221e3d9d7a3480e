//! All there is in a run: the clock, the agent, the network and the client's host.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use sandpipe_client::Agent;
use sandpipe_client::http::{Backoff, HttpClient, RetryHooks, RetryPolicy};

use crate::agent::SimAgent;
use crate::agent::program::Program;
use crate::executor::{Executor, Owner};
use crate::faults::FaultPlan;
use crate::host::SimHost;
use crate::network::{Network, URL};
use crate::retry_hooks::SimHooks;
use crate::setup::{Parts, Setup};

/// All there is in a run.
pub(crate) struct World {
    pub(crate) setup: Rc<Setup>,
    pub(crate) parts: Rc<Parts>,
    pub(crate) executor: Executor,
    pub(crate) agent: Rc<SimAgent>,
    pub(crate) network: Rc<Network>,
    pub(crate) host: Rc<SimHost>,
    pub(crate) trace: Rc<Trace>,
}

impl World {
    pub(crate) fn new(setup: Setup, parts: Parts, has_trace: bool) -> Self {
        let executor = Executor::new(setup.seed);
        let (setup, parts) = (Rc::new(setup), Rc::new(parts));
        let lines = has_trace.then(RefCell::default);
        let trace = Rc::new(Trace { executor: executor.clone(), lines });
        let agent = SimAgent::new(executor.clone(), setup.clone());
        let faults = FaultPlan::new(setup.clone(), parts.clone());
        let network = Rc::new(Network::new(
            executor.clone(),
            agent.clone(),
            faults,
            trace.clone(),
            setup.clone(),
        ));
        let host = Rc::new(SimHost::new(executor.clone(), network.clone(), setup.clone()));
        Self { setup, parts, executor, agent, network, host, trace }
    }

    /// A client of the agent.
    pub(crate) fn client(&self) -> Agent {
        let backoff = Backoff { max_attempts: self.setup.max_attempts, ..Backoff::default() };
        let hooks = self.setup.has_hooks.then(|| {
            let random = RefCell::new(fastrand::Rng::with_seed(self.setup.seed));
            let may_throw = !self.setup.is_survivable();
            Rc::new(SimHooks { executor: self.executor.clone(), random, may_throw })
                as Rc<dyn RetryHooks>
        });
        let retry = RetryPolicy { backoff, hooks };
        let socket_query = Some(String::new());
        Agent::new(HttpClient::new(self.host.clone(), URL, socket_query, retry))
    }

    /// Runs a future to its end.
    pub(crate) fn run<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<T, String> {
        self.executor.run(future).map_err(str::to_owned)
    }

    /// A part of the run that the seed has decided; None if it is left out.
    pub(crate) fn maybe<T>(&self, given: Option<T>) -> Option<T> {
        given.filter(|_| self.parts.keeps_next())
    }

    /// A program by chance.
    pub(crate) fn program(&self, random: &mut fastrand::Rng) -> Program {
        let mut program = Program::of(random);
        program.steps.retain(|_| self.parts.keeps_next());
        program
    }

    /// Where anything may go wrong the agent forgets a command now and then.
    pub(crate) fn may_forget(&self, command: &'static str, random: &mut fastrand::Rng) {
        let ms = self.maybe((random.u8(..4) == 0).then(|| random.f64() * 5_000.0));
        if let Some(ms) = ms.filter(|_| !self.setup.is_survivable()) {
            let agent = self.agent.clone();
            self.after(ms, "the agent is started again", move || agent.forget(command));
        }
    }

    /// Has something done after so many milliseconds.
    pub(crate) fn after(&self, ms: f64, name: &'static str, act: impl FnOnce() + 'static) {
        let (pause, trace) = (self.executor.sleep(ms), self.trace.clone());
        self.executor.spawn(Owner::Simulation, async move {
            pause.await;
            trace.add(|| name.to_owned());
            act();
        });
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.executor.clear();
    }
}

/// What happened in a run, in order, for whoever looks for the reason of a failure. It is kept only then: texts take
/// longer than all else.
pub(crate) struct Trace {
    executor: Executor,
    lines: Option<RefCell<Vec<String>>>,
}

impl Trace {
    /// Adds an event.
    pub(crate) fn add(&self, event: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let now_ms = self.executor.now_ms();
            lines.borrow_mut().push(format!("{now_ms:>12.3} ms  {}", event()));
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines.as_ref().map(|lines| lines.borrow().join("\n"));
        f.write_str(&lines.unwrap_or_default())
    }
}
