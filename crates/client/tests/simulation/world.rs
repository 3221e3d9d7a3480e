//! All there is in a run: the clock, the agent, the network and the client's host.

use std::collections::BTreeSet;
use std::rc::Rc;

use sandpipe_client::agent::Agent;
use sandpipe_client::http::backoff::Backoff;
use sandpipe_client::http::client::HttpClient;
use sandpipe_client::http::retry_policy::RetryPolicy;
use sandpipe_protocol::ExecStatus;

use crate::agent::{FEATURES, SimAgent};
use crate::executor::{Executor, Owner, Stuck};
use crate::faults::{Budget, FaultPlan, Kind};
use crate::host::{SimHost, Surroundings};
use crate::network::{Network, URL};
use crate::trace::Trace;

/// What a run is made of.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    pub(crate) features: BTreeSet<&'static str>,
    /// The most events that the agent keeps of an exec.
    pub(crate) max_events: usize,
    /// What the agent says of an exec that runs.
    pub(crate) running: ExecStatus,
    pub(crate) budget: Budget,
    /// How many requests in a hundred have a fault.
    pub(crate) fault_percentage: u8,
    /// How often the client tries what fails.
    pub(crate) max_attempts: u32,
    pub(crate) surroundings: Surroundings,
    /// The requests that have no fault although the seed gives them one.
    pub(crate) spared: BTreeSet<(Kind, u32)>,
}

/// All there is in a run.
pub(crate) struct World {
    pub(crate) setup: Setup,
    pub(crate) executor: Executor,
    pub(crate) agent: Rc<SimAgent>,
    pub(crate) network: Rc<Network>,
    pub(crate) faults: Rc<FaultPlan>,
    pub(crate) trace: Rc<Trace>,
    pub(crate) host: Rc<SimHost>,
}

impl Setup {
    /// Nothing goes wrong, and the agent has all extensions.
    pub(crate) fn calm(seed: u64) -> Self {
        Self {
            seed,
            features: FEATURES.into(),
            max_events: usize::MAX,
            running: ExecStatus::Running,
            budget: Budget::None,
            fault_percentage: 0,
            max_attempts: 3,
            surroundings: Surroundings {
                timer_factor: 1.0,
                clock_ahead_ms: 0.0,
                max_text_length: u32::MAX,
            },
            spared: BTreeSet::new(),
        }
    }

    /// What a seed decides.
    pub(crate) fn of(seed: u64, random: &mut fastrand::Rng) -> Self {
        let mut features = BTreeSet::from(FEATURES);
        match random.u8(..8) {
            0 => features.clear(),
            1 | 2 => {
                features.remove("create-stream");
            }
            3 | 4 => {
                features.remove(FEATURES[random.usize(..FEATURES.len())]);
            }
            _ => {}
        }
        let max_attempts = random.u32(2..5);
        Self {
            features,
            max_events: if random.u8(..16) == 0 { random.usize(1..10) } else { usize::MAX },
            running: match random.u8(..8) {
                0 => ExecStatus::Other("ACTIVE".to_owned()),
                _ => ExecStatus::Running,
            },
            budget: match random.u8(..8) {
                0 | 1 => Budget::None,
                2 => Budget::Hopeless,
                _ => Budget::Survivable { max_attempts },
            },
            fault_percentage: random.u8(5..70),
            max_attempts,
            surroundings: Surroundings::of(random),
            ..Self::calm(seed)
        }
    }
}

impl World {
    pub(crate) fn new(setup: Setup, has_trace: bool) -> Self {
        let Setup { seed, budget, surroundings, .. } = setup;
        let executor = Executor::new(seed);
        let (features, running) = (setup.features.clone(), setup.running.clone());
        let agent = SimAgent::new(executor.clone(), features, setup.max_events, running);
        let spared = setup.spared.clone();
        let faults = Rc::new(FaultPlan::new(seed, budget, setup.fault_percentage, spared));
        let trace = Rc::new(Trace::new(executor.clone(), has_trace));
        let network = Rc::new(Network::new(
            executor.clone(),
            agent.clone(),
            faults.clone(),
            trace.clone(),
            fastrand::Rng::with_seed(!seed),
        ));
        let host = SimHost::new(executor.clone(), network.clone(), surroundings, seed);
        Self { setup, executor, agent, network, faults, trace, host: Rc::new(host) }
    }

    /// A client of the agent.
    pub(crate) fn client(&self) -> Agent {
        let backoff = Backoff { max_attempts: self.setup.max_attempts, ..Backoff::default() };
        let retry = RetryPolicy { backoff, hooks: None };
        let socket_query = Some(String::new());
        Agent::new(HttpClient::new(self.host.clone(), URL, socket_query, retry))
    }

    /// Runs something to its end.
    pub(crate) fn run<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<T, String> {
        self.executor.run(future).map_err(|stuck| match stuck {
            Stuck::Deadlock => "it waits for nothing that will come".to_owned(),
            Stuck::TooLong => "it does not end within a day".to_owned(),
            Stuck::TooBusy => "it polls without end".to_owned(),
        })
    }

    /// Has something done after so many milliseconds.
    pub(crate) fn after(&self, ms: f64, act: impl FnOnce() + 'static) {
        let pause = self.executor.sleep(ms);
        self.executor.spawn(Owner::Simulation, async move {
            pause.await;
            act();
        });
    }

    /// Whether all goes well in the end, if the client does what it can.
    pub(crate) fn is_survivable(&self) -> bool {
        self.setup.budget != Budget::Hopeless
    }
}

/// What runs holds what it runs in.
impl Drop for World {
    fn drop(&mut self) {
        self.executor.clear();
    }
}
