//! What goes wrong on the way to the agent and back.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use sandpipe_client::host::{HttpRequest, Method};

use crate::setup::{Part, Parts, Setup};

/// What a request is for, as its address says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Health,
    List,
    Create,
    Get,
    Delete,
    Start,
    Output,
    Stdin,
    Signal,
    StreamList,
    StreamOutput,
    Socket,
    /// A script for background processes.
    Script,
    ReadFile,
    WriteFile,
    /// A move or a copy.
    MoveFile,
    RemoveFile,
    StatFile,
    StreamPorts,
    Watch,
}

impl Kind {
    /// The kind of a request for a path without its query.
    pub(crate) fn of(method: Method, path: &str) -> Option<Self> {
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        Some(match (method, &segments[..]) {
            (Method::Get, ["health"]) => Self::Health,
            (Method::Get, ["api", "v1", "execs"]) => Self::List,
            (Method::Post, ["api", "v1", "execs"]) => Self::Create,
            (Method::Get, ["api", "v1", "execs", _]) => Self::Get,
            (Method::Delete, ["api", "v1", "execs", _]) => Self::Delete,
            (Method::Post, ["api", "v1", "execs", _, "start"]) => Self::Start,
            (Method::Get, ["api", "v1", "execs", _, "io"]) => Self::Output,
            (Method::Post, ["api", "v1", "execs", _, "io"]) => Self::Stdin,
            (Method::Post, ["api", "v1", "execs", _, "signal"]) => Self::Signal,
            (Method::Get, ["api", "v1", "stream", "execs"]) => Self::StreamList,
            (Method::Get, ["api", "v1", "stream", "execs", _, "io"]) => Self::StreamOutput,
            (Method::Get, ["ws", "v1", "execs", _]) => Self::Socket,
            (Method::Get, ["api", "v1", "files", _]) => Self::ReadFile,
            (Method::Put | Method::Post, ["api", "v1", "files", _]) => Self::WriteFile,
            (Method::Patch, ["api", "v1", "files", _]) => Self::MoveFile,
            (Method::Delete, ["api", "v1", "files", _]) => Self::RemoveFile,
            (Method::Get, ["api", "v1", "file_stat", _]) => Self::StatFile,
            (Method::Get, ["api", "v1", "stream", "ports"]) => Self::StreamPorts,
            (Method::Get, ["api", "v1", "stream", "directories", "watcher", _]) => Self::Watch,
            _ => return None,
        })
    }

    /// Whether it is about a file.
    pub(crate) fn is_of_files(self) -> bool {
        matches!(
            self,
            Self::ReadFile | Self::WriteFile | Self::MoveFile | Self::RemoveFile | Self::StatFile
        )
    }
}

/// Something that goes wrong with one request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// There is no connection, so the agent does not see the request.
    Refused,
    /// The connection breaks before the answer.
    Lost {
        /// The agent has carried it out.
        acted: bool,
    },
    /// The answer's head comes so many milliseconds late.
    Late(f64),
    /// The request takes so many milliseconds longer to arrive: others overtake it.
    Delayed(f64),
    /// A gateway answers, or the agent refuses.
    Status {
        status: u16,
        retry_after: Option<RetryAfter>,
        /// The agent has carried it out.
        acted: bool,
        /// It is the agent's own word.
        is_agents: bool,
    },
    /// A gateway's page answers, with status 200; the agent has not seen the request. A WebSocket begins with a frame
    /// that is no text.
    Page,
    /// The same, of which no more than the head comes.
    StalledPage,
    /// The body ends after so many bytes, as if it were whole if it is clean.
    Cut { after: usize, is_clean: bool },
    /// Nothing comes for so many milliseconds after so many bytes; for ever if they are infinite.
    Stall { after: usize, ms: f64 },
    /// A stream begins so many events before the requested one.
    Repeat(u64),
    /// A stream ends in good order after so many events of output, at least one. That may happen any number of times:
    /// there is progress.
    EndAfter(usize),
    /// A stream ends in good order before anything has come, where the exec runs. That, too, may happen any number of
    /// times.
    EndEmpty,
}

impl Fault {
    fn is_progress(&self) -> bool {
        matches!(self, Self::EndAfter(_) | Self::EndEmpty)
    }
}

/// What the header `Retry-After` says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RetryAfter {
    Seconds(u32),
    /// A date that is so many milliseconds ahead.
    Date(f64),
}

/// How much may go wrong.
#[derive(Clone, Debug)]
pub(crate) enum Budget {
    /// Nothing.
    None,
    /// What a client that may try so many times in all has to survive.
    Survivable { max_attempts: u32 },
    /// Anything.
    Hopeless,
    /// What this says of a request's path and body, and how often there has been the same one.
    Written(fn(&str, u32) -> Option<Fault>),
}

/// Which requests fail, and how. Each has a chance of its own: one that is left out changes no other.
pub(crate) struct FaultPlan {
    setup: Rc<Setup>,
    parts: Rc<Parts>,
    requests: RefCell<BTreeMap<Kind, u32>>,
    /// How often there has been the same request, and how many faults in a row it has had by now: another one that
    /// succeeds meanwhile does not help.
    same: RefCell<BTreeMap<(Kind, String), (u32, u32)>>,
    drawn: RefCell<Vec<Drawn>>,
    /// The requests that were made again before the time that a server named.
    early: RefCell<Vec<String>>,
}

/// A fault that took place.
pub(crate) struct Drawn {
    /// When the request was made, in milliseconds.
    pub(crate) at_ms: f64,
    pub(crate) kind: Kind,
    /// The path and the body of the request.
    pub(crate) content: String,
    pub(crate) fault: Fault,
}

impl FaultPlan {
    pub(crate) fn new(setup: Rc<Setup>, parts: Rc<Parts>) -> Self {
        let (requests, same, drawn, early) = Default::default();
        Self { setup, parts, requests, same, drawn, early }
    }

    /// The requests that were made again before the time that a server named.
    pub(crate) fn early(&self) -> Ref<'_, Vec<String>> {
        self.early.borrow()
    }

    /// The faults that took place.
    pub(crate) fn drawn(&self) -> Ref<'_, Vec<Drawn>> {
        self.drawn.borrow()
    }

    /// What goes wrong with a request that is made `at_ms`. One that is made again has the same `content`.
    pub(crate) fn next(
        &self,
        at_ms: f64,
        kind: Kind,
        content: &str,
        is_repeatable: bool,
    ) -> Option<Fault> {
        self.look_for_haste(at_ms, kind, content);
        let mut requests = self.requests.borrow_mut();
        let number = requests.entry(kind).or_default();
        *number += 1;
        let mut same = self.same.borrow_mut();
        let (count, faults_in_a_row) = same.entry((kind, content.to_owned())).or_default();
        *count += 1;
        let mut random = fastrand::Rng::with_seed(
            self.setup.seed
                ^ (u64::from(*number) << 8 | kind as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15),
        );
        let is_chosen = random.u8(..100) < self.setup.fault_percentage;
        let fault = match &self.setup.budget {
            Budget::Survivable { max_attempts } => {
                let fault = is_chosen.then(|| survivable(&mut random, kind, is_repeatable));
                let is_last_attempt = *faults_in_a_row + 1 >= *max_attempts;
                fault.filter(|fault| fault.is_progress() || !is_last_attempt)
            }
            Budget::Hopeless => is_chosen.then(|| any(&mut random)),
            Budget::Written(fault) => fault(content, *count),
            Budget::None => None,
        };
        let fault = fault.filter(|_| self.parts.keeps(Part::Fault(kind, *number)));
        match fault {
            None => *faults_in_a_row = 0,
            Some(fault) if fault.is_progress() => {}
            Some(_) => *faults_in_a_row += 1,
        }
        let content = content.to_owned();
        self.drawn.borrow_mut().extend(fault.map(|fault| Drawn { at_ms, kind, content, fault }));
        fault
    }
}

impl FaultPlan {
    /// Notes a request whose last answer asked for a later one. Other requests have several reasons to be made.
    fn look_for_haste(&self, at_ms: f64, kind: Kind, content: &str) {
        if !matches!(kind, Kind::List | Kind::Output | Kind::StreamOutput) {
            return;
        }
        let drawn = self.drawn.borrow();
        let is_same = |drawn: &&Drawn| drawn.kind == kind && drawn.content == content;
        let Some(Drawn { at_ms: before_ms, fault, .. }) = drawn.iter().rev().find(is_same) else {
            return;
        };
        if let Fault::Status { retry_after: Some(RetryAfter::Seconds(seconds)), .. } = fault
            && at_ms < before_ms + f64::from(*seconds) * 1000.0
        {
            let request = format!("{kind:?} {content} at {at_ms}, {seconds} s after {before_ms}");
            self.early.borrow_mut().push(request);
        }
    }
}

/// Longest delay of a request in milliseconds: less than what waits for the answer allows.
const MAX_DELAY_MS: f64 = 2_000.0;

/// A fault that a request of this kind can be repeated after.
fn survivable(random: &mut fastrand::Rng, kind: Kind, is_repeatable: bool) -> Fault {
    if !is_repeatable {
        // A script is never made again: where its answer is lost, the error names the process.
        let kinds = if kind == Kind::Script { 6 } else { 4 };
        return match random.u8(..kinds) {
            0 => {
                let is_agents = random.bool();
                Fault::Status { status: 429, retry_after: None, acted: false, is_agents }
            }
            1 => Fault::Late(random.f64() * 40_000.0),
            2 => Fault::Delayed(random.f64() * MAX_DELAY_MS),
            3 => Fault::Refused,
            _ => Fault::Lost { acted: random.bool() },
        };
    }
    let acted = random.bool();
    let kinds = match kind {
        Kind::StreamOutput => 16,
        Kind::StreamList => 11,
        Kind::ReadFile | Kind::StreamPorts | Kind::Watch => 9,
        _ => 7,
    };
    // Of a WebSocket it is frames that are counted.
    let size =
        if kind == Kind::Socket { |random: &mut fastrand::Rng| random.usize(..24) } else { size };
    match random.u8(..kinds) {
        0 => Fault::Refused,
        1 => Fault::Lost { acted },
        2 => Fault::Late(random.f64() * 90_000.0),
        3 => Fault::Stall { after: size(random), ms: duration(random) },
        4 => Fault::Cut { after: size(random), is_clean: false },
        5 => Fault::Delayed(random.f64() * MAX_DELAY_MS),
        6 => {
            let status = [408, 429, 500, 502, 503, 504][random.usize(..6)];
            let acted = acted && status != 429;
            let retry_after = match random.u8(..6) {
                0 => Some(RetryAfter::Seconds(random.u32(..30))),
                // The client's clock may be some seconds off.
                1 => Some(RetryAfter::Date(random.f64() * 15_000.0)),
                _ => None,
            };
            let is_agents = !acted && matches!(status, 429 | 503) && random.bool();
            Fault::Status { status, retry_after, acted, is_agents }
        }
        7 | 8 => Fault::Cut { after: size(random), is_clean: true },
        9 | 10 => Fault::Repeat(random.u64(1..10)),
        11 | 12 => Fault::EndEmpty,
        _ => Fault::EndAfter(random.usize(1..4)),
    }
}

fn any(random: &mut fastrand::Rng) -> Fault {
    match random.u8(..9) {
        0 => Fault::Page,
        8 => Fault::StalledPage,
        1 => Fault::Cut { after: size(random), is_clean: true },
        2 => {
            let statuses = [400, 401, 403, 404, 405, 408, 409, 410, 422, 429, 500, 502, 503, 504];
            let status = statuses[random.usize(..statuses.len())];
            Fault::Status {
                status,
                is_agents: matches!(status, 401 | 403),
                retry_after: random.bool().then(|| RetryAfter::Seconds(random.u32(..))),
                // Who answers for the agent knows what it means by another status.
                acted: random.bool() && (status >= 500 || status == 408),
            }
        }
        _ => survivable(random, Kind::StreamOutput, true),
    }
}

/// How many bytes come before something goes wrong: few, mostly.
fn size(random: &mut fastrand::Rng) -> usize {
    let bits = random.u32(..12);
    random.usize(..1 << bits)
}

fn duration(random: &mut fastrand::Rng) -> f64 {
    match random.u8(..4) {
        0 => f64::INFINITY,
        1 => random.f64() * 90_000.0,
        _ => random.f64() * 1000.0,
    }
}

/// Whether a client survives that the outcome of a request is unknown: it is made again, or others make up for it.
pub(crate) fn is_repeatable(kind: Kind, request: &HttpRequest) -> bool {
    match kind {
        Kind::Create => request.idempotency_key.is_some(),
        Kind::Start | Kind::Stdin | Kind::Socket | Kind::Script => false,
        _ => true,
    }
}
