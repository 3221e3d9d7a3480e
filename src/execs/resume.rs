//! What to do when a stream of output ends, breaks or was refused: a state machine without I/O and
//! without a clock. The driver does what it says and tells it what came of that.

use sandpipe_protocol::{ExecItem, ExecStatus};

use crate::retry::Backoff;

/// Brings a stream of output to its end over as many connections as it takes.
#[derive(Debug)]
pub(crate) struct Resume {
    backoff: Backoff,
    /// How many connections in a row brought no new event.
    failures: u32,
    /// What the agent said of the exec when it was last asked.
    told: Told,
    /// Events have come over this connection.
    brought: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    /// More may come.
    Runs,
    /// All output exists; this is the exit code, if there is one.
    Ended(Option<i32>),
}

impl Told {
    fn exit_code(self) -> Option<i32> {
        match self {
            Self::Ended(exit_code) => exit_code,
            Self::Nothing | Self::Runs => None,
        }
    }
}

/// What the driver is to do next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Wait, unless it is 0 milliseconds, then ask the agent what became of the exec.
    Ask { delay_ms: f64, failures: u32 },
    /// Connect again, for the events after the last one.
    Connect,
    /// The output was complete, and this is the exit code.
    Done(i32),
    /// There is no exit code to be had.
    Missing,
    /// It was tried often enough.
    GiveUp,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As the sender wished.
    Clean,
    /// In the middle, or before it began.
    Broken,
}

impl Resume {
    pub(crate) fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, told: Told::Nothing, brought: false }
    }

    /// A new event came.
    pub(crate) fn brought_events(&mut self) {
        self.failures = 0;
        self.brought = true;
    }

    /// The connection ended without an exit code. `retry_after_ms` is what a refusal named.
    pub(crate) fn ended(
        &mut self,
        ending: Ending,
        random: f64,
        retry_after_ms: Option<f64>,
    ) -> Next {
        let brought = std::mem::take(&mut self.brought);
        if ending == Ending::Clean && !brought && self.told == Told::Ended(None) {
            return Next::Missing;
        }
        match self.failed(random, retry_after_ms) {
            // A proxy, too, ends streams in good order: only one that brings nothing however often
            // it is asked for shows that no output is missing.
            Next::GiveUp if ending == Ending::Clean => {
                self.told.exit_code().map_or(Next::GiveUp, Next::Done)
            }
            next => next,
        }
    }

    /// What the agent says of the exec.
    pub(crate) fn told(&mut self, exec: &ExecItem) -> Next {
        self.told = match exec.status {
            ExecStatus::Exited | ExecStatus::Stopped => {
                Told::Ended(u32::try_from(exec.exit_code).is_ok().then_some(exec.exit_code))
            }
            ExecStatus::Created
            | ExecStatus::Running
            | ExecStatus::Stopping
            | ExecStatus::Other(_) => Told::Runs,
        };
        Next::Connect
    }

    /// The agent could not be asked.
    pub(crate) fn not_told(&mut self, random: f64, retry_after_ms: Option<f64>) -> Next {
        self.failed(random, retry_after_ms)
    }

    fn failed(&mut self, random: f64, retry_after_ms: Option<f64>) -> Next {
        self.failures += 1;
        if self.failures > self.backoff.max_attempts {
            return Next::GiveUp;
        }
        // The first time at once: a proxy that ends long streams is no reason to wait.
        let delay_ms = match (self.failures, retry_after_ms) {
            (1, None) => 0.0,
            (failures, after) => self.backoff.delay(failures - 1, random, after),
        };
        Next::Ask { delay_ms, failures: self.failures }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sandpipe_protocol::sse::encode_event;
    use sandpipe_protocol::{ExecStdout, OutputType};

    use super::*;
    use crate::execs::follow::Follower;

    /// What one connection does to the bytes that it is to carry.
    #[derive(Clone, Copy, Debug)]
    enum Fault {
        /// Carries so many bytes, then ends.
        Cut(usize, Ending),
        /// Does not come about.
        Refused,
        /// Carries the events before the wanted ones as well.
        Repeats(usize),
    }

    /// An agent that has all events of an exec that has ended.
    struct Agent {
        events: Vec<ExecStdout>,
        exec: ExecItem,
    }

    impl Agent {
        fn new(outputs: &[String], exit_code: i32) -> Self {
            let event = |(sequence, output): (u64, &String)| ExecStdout {
                kind: OutputType::Stdout,
                output: output.clone(),
                sequence,
                timestamp: None,
                exit_code: None,
            };
            let mut events: Vec<_> = (1..).zip(outputs).map(event).collect();
            events.push(ExecStdout {
                exit_code: Some(exit_code),
                ..event((events.len() as u64 + 1, &String::new()))
            });
            Self { events, exec: exec(ExecStatus::Exited, exit_code) }
        }

        /// The bytes of the events after `last_sequence`.
        fn stream(&self, last_sequence: i64) -> Vec<u8> {
            let mut bytes = Vec::new();
            for event in self.events.iter().skip(usize::try_from(last_sequence).unwrap()) {
                encode_event(&mut bytes, "", &serde_json::to_string(event).unwrap());
            }
            bytes
        }
    }

    fn exec(status: ExecStatus, exit_code: i32) -> ExecItem {
        ExecItem {
            id: "x".into(),
            command: "x".into(),
            args: vec![],
            status,
            pid: 1,
            pty: false,
            exit_code,
            user: None,
        }
    }

    /// Follows the agent's output through connections with these faults, then through sound ones.
    fn follow(agent: &Agent, faults: &[Fault], max_attempts: u32) -> (Vec<ExecStdout>, Next) {
        let backoff = Backoff { max_attempts, ..Backoff::default() };
        let mut resume = Resume::new(backoff);
        let mut follower = Follower::after(0);
        let mut events = Vec::new();
        let mut faults = faults.iter();
        loop {
            let fault = faults.next().copied().unwrap_or(Fault::Cut(usize::MAX, Ending::Clean));
            let last = follower.last_sequence();
            let (bytes, ending) = match fault {
                Fault::Refused => (Vec::new(), Ending::Broken),
                Fault::Repeats(count) => {
                    let from = last - i64::try_from(count).unwrap();
                    (agent.stream(from.max(0)), Ending::Clean)
                }
                Fault::Cut(count, ending) => {
                    let mut bytes = agent.stream(last);
                    bytes.truncate(count);
                    (bytes, ending)
                }
            };
            for chunk in bytes.chunks(7) {
                let before = events.len();
                follower.feed(chunk, &mut events).unwrap();
                if events.len() > before {
                    resume.brought_events();
                }
            }
            if let Some(exit_code) = follower.exit_code() {
                return (events, Next::Done(exit_code));
            }
            follower.disconnected();
            match resume.ended(ending, 0.5, None) {
                Next::Ask { .. } => assert_eq!(resume.told(&agent.exec), Next::Connect),
                verdict => return (events, verdict),
            }
        }
    }

    fn fault() -> impl Strategy<Value = Fault> {
        prop_oneof![
            (0_usize..400, prop::sample::select(vec![Ending::Clean, Ending::Broken]))
                .prop_map(|(count, ending)| Fault::Cut(count, ending)),
            Just(Fault::Refused),
            (0_usize..4).prop_map(Fault::Repeats),
        ]
    }

    proptest! {
        #[test]
        fn every_event_comes_once_and_in_order_whatever_the_faults(
            outputs in prop::collection::vec(".{0,12}", 0..12),
            exit_code in 0..256,
            faults in prop::collection::vec(fault(), 0..30),
        ) {
            let agent = Agent::new(&outputs, exit_code);
            let (events, verdict) = follow(&agent, &faults, u32::MAX);
            prop_assert_eq!(verdict, Next::Done(exit_code));
            let told: Vec<_> = events.iter().filter(|event| event.exit_code.is_none()).collect();
            let all: Vec<_> = agent.events.iter().filter(|event| event.exit_code.is_none()).collect();
            prop_assert_eq!(told, all);
        }
    }

    #[test]
    fn asks_at_once_the_first_time_and_then_after_growing_pauses() {
        let mut resume = Resume::new(Backoff::default());
        let mut pauses = Vec::new();
        loop {
            match resume.ended(Ending::Broken, 1.0, None) {
                Next::Ask { delay_ms, .. } => pauses.push(delay_ms),
                verdict => break assert_eq!(verdict, Next::GiveUp),
            }
            assert_eq!(resume.told(&exec(ExecStatus::Running, -1)), Next::Connect);
        }
        assert_eq!(pauses, [0.0, 500.0, 1000.0]);
    }

    #[test]
    fn a_new_event_starts_the_count_again() {
        let mut resume = Resume::new(Backoff::default());
        for _ in 0..100 {
            let next = resume.ended(Ending::Clean, 1.0, None);
            assert_eq!(next, Next::Ask { delay_ms: 0.0, failures: 1 });
            assert_eq!(resume.told(&exec(ExecStatus::Running, -1)), Next::Connect);
            resume.brought_events();
        }
    }

    #[test]
    fn an_exec_that_ended_without_a_code_has_none_to_be_had() {
        let mut resume = Resume::new(Backoff::default());
        resume.ended(Ending::Broken, 0.0, None);
        assert_eq!(resume.told(&exec(ExecStatus::Stopped, -1)), Next::Connect);
        assert_eq!(resume.ended(Ending::Clean, 0.0, None), Next::Missing);
    }

    #[test]
    fn an_agent_that_tells_the_code_elsewhere_is_believed_when_no_stream_brings_more() {
        for (last, verdict) in [(Ending::Clean, Next::Done(7)), (Ending::Broken, Next::GiveUp)] {
            let mut resume = Resume::new(Backoff::default());
            for _ in 0..3 {
                assert!(matches!(resume.ended(Ending::Clean, 0.0, None), Next::Ask { .. }));
                resume.told(&exec(ExecStatus::Exited, 7));
            }
            assert_eq!(resume.ended(last, 0.0, None), verdict);
        }
    }

    #[test]
    fn a_stream_that_brought_events_may_have_been_cut() {
        let mut resume = Resume::new(Backoff::default());
        resume.ended(Ending::Broken, 0.0, None);
        resume.told(&exec(ExecStatus::Stopped, -1));
        resume.brought_events();
        assert!(matches!(resume.ended(Ending::Clean, 0.0, None), Next::Ask { .. }));
    }

    #[test]
    fn a_pause_that_the_server_names_is_kept() {
        let mut resume = Resume::new(Backoff::default());
        let next = resume.ended(Ending::Broken, 0.0, Some(7000.0));
        assert_eq!(next, Next::Ask { delay_ms: 7000.0, failures: 1 });
    }
}
