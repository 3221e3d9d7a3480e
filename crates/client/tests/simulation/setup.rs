//! What a seed decides of a run, and what the run can do without.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use sandpipe_protocol::ExecStatus;

use crate::faults::{Budget, Kind};

/// The extensions of the agent's interface.
const FEATURES: [&str; 13] = [
    "idempotency-key",
    "signal",
    "stdin-eof",
    "stdin-bytes",
    "gap",
    "attach",
    "create-stream",
    "list-changes",
    "frames",
    "files",
    "files-raw",
    "ports",
    "watch",
];

/// The agent, the client's host and the network of a run.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) seed: u64,
    /// The extensions that the agent offers.
    pub(crate) features: BTreeSet<&'static str>,
    /// Some outputs are answered by an older agent, which has no frames.
    pub(crate) is_older_now_and_then: bool,
    /// The most events that the agent keeps of an exec.
    pub(crate) max_events: usize,
    /// The agent's word for an exec that runs.
    pub(crate) running: ExecStatus,
    pub(crate) budget: Budget,
    /// How many requests in a hundred have a fault.
    pub(crate) fault_percentage: u8,
    /// A proxy ends each stream of what runs after so many milliseconds.
    pub(crate) stream_ms: Option<f64>,
    /// The caller has functions that have a say in what is tried again.
    pub(crate) has_hooks: bool,
    /// How often the client tries a request.
    pub(crate) max_attempts: u32,
    /// Timers take so many times as long as they should: at least 1.
    pub(crate) timer_factor: f64,
    /// How many milliseconds the client's clock is ahead of the servers'.
    pub(crate) clock_ahead_ms: f64,
    /// When the client's clock jumps, and how far, in milliseconds: its timers stood still for so long.
    pub(crate) jump: Option<(f64, f64)>,
    /// The most UTF-16 code units of a text in the client's host.
    pub(crate) max_text_length: u32,
    /// How many bytes of a file the client asks for at once.
    pub(crate) max_range_bytes: u64,
    /// The most bytes that the network delivers at once.
    pub(crate) max_chunk: usize,
}

impl Setup {
    /// Nothing goes wrong, and the agent has all extensions.
    pub(crate) fn calm() -> Self {
        Self {
            seed: 1,
            features: FEATURES.into(),
            is_older_now_and_then: false,
            max_events: usize::MAX,
            running: ExecStatus::Running,
            budget: Budget::None,
            fault_percentage: 0,
            stream_ms: None,
            has_hooks: false,
            max_attempts: 3,
            timer_factor: 1.0,
            clock_ahead_ms: 0.0,
            jump: None,
            max_text_length: 1 << 29,
            max_range_bytes: 1 << 25,
            max_chunk: 64 * 1024,
        }
    }

    /// What a seed decides.
    pub(crate) fn of(seed: u64, random: &mut fastrand::Rng) -> Self {
        let mut setup = Self { seed, ..Self::calm() };
        match random.u8(..8) {
            0 => setup.features.clear(),
            1 | 2 => drop(setup.features.remove("create-stream")),
            3 | 4 => drop(setup.features.remove(FEATURES[random.usize(..FEATURES.len())])),
            _ => {}
        }
        match random.u8(..4) {
            0 => drop(setup.features.remove("frames")),
            1 => setup.is_older_now_and_then = true,
            _ => {}
        }
        setup.max_attempts = random.u32(2..5);
        setup.has_hooks = random.u8(..8) == 0;
        if random.u8(..16) == 0 {
            setup.max_events = random.usize(1..10);
        }
        if random.u8(..8) == 0 {
            setup.running = ExecStatus::Other("ACTIVE".to_owned());
        }
        setup.budget = match random.u8(..8) {
            0 | 1 => Budget::None,
            2 => Budget::Hopeless,
            _ => Budget::Survivable { max_attempts: setup.max_attempts },
        };
        setup.fault_percentage = random.u8(5..70);
        if random.u8(..8) == 0 && !setup.is_calm() {
            setup.stream_ms = Some(random.f64() * if random.bool() { 20.0 } else { 10_000.0 });
        }
        if random.u8(..4) == 0 {
            setup.timer_factor = 1.0 + random.f64() / 2.0;
            setup.clock_ahead_ms = (random.f64() - 0.5) * 28_000.0;
        }
        if random.u8(..8) == 0 {
            setup.jump = Some((random.f64() * 30_000.0, random.f64() * 3_600_000.0));
        }
        if random.u8(..16) == 0 {
            setup.max_text_length = random.u32(8..2000);
        }
        if random.bool() {
            setup.max_range_bytes = 1 << random.u32(8..14);
        }
        if random.bool() {
            setup.max_chunk = 1 << random.u32(..8);
        }
        setup
    }

    /// Whether the agent offers an extension.
    pub(crate) fn offers(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }

    /// Whether the agent never drops an event.
    pub(crate) fn keeps_all_events(&self) -> bool {
        self.max_events == usize::MAX
    }

    /// Whether nothing goes wrong on the way.
    pub(crate) fn is_calm(&self) -> bool {
        matches!(self.budget, Budget::None)
    }

    /// Whether all goes well in the end, if the client does what it can.
    pub(crate) fn is_survivable(&self) -> bool {
        matches!(self.budget, Budget::None | Budget::Survivable { .. })
    }
}

/// Something that may be left out of a run: where it fails without it, too, the story is shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    /// The fault of a request, by its number among its kind.
    Fault(Kind, u32),
    /// Something else, by its number.
    Other(u32),
}

/// What a run is made of, and which parts are left out.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    left_out: BTreeSet<Part>,
    kept: RefCell<BTreeSet<Part>>,
    others: Cell<u32>,
}

impl Parts {
    pub(crate) fn without(left_out: BTreeSet<Part>) -> Self {
        Self { left_out, ..Self::default() }
    }

    /// The parts that the run has had so far.
    pub(crate) fn kept(&self) -> BTreeSet<Part> {
        self.kept.borrow().clone()
    }

    /// Whether a part is not left out.
    pub(crate) fn keeps(&self, part: Part) -> bool {
        let is_kept = !self.left_out.contains(&part);
        if is_kept {
            self.kept.borrow_mut().insert(part);
        }
        is_kept
    }

    /// The same for a part without a name.
    pub(crate) fn keeps_next(&self) -> bool {
        self.others.set(self.others.get() + 1);
        self.keeps(Part::Other(self.others.get()))
    }
}
