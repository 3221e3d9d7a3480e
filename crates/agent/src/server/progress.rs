use std::{mem, time::Duration};

use tokio::time::Instant;

use crate::token::Role;

/// How long a client may take for the head of a request, from its connection or its first byte on.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client has for the rest of a request's head, however many others want the place. Of most requests there is
/// no rest: the system hands over a connection when something has come on it.
const HEAD_GRACE: Duration = Duration::from_millis(50);
/// How long the socket may have no room for more of an answer, however many others want the place.
const STALL_GRACE: Duration = Duration::from_millis(200);
/// How long a client may take then in all, from the beginning of its request on, however it takes the answer. Requests that
/// come without a pause count as one.
const EXCHANGE_GRACE: Duration = Duration::from_millis(400);
/// How long a connection may wait for its next request.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long nothing may be heard of the system of a client that may pause. It is asked, by a window probe, at least every
/// two minutes (RFC 9293, 3.8.6.1).
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_mins(6);
/// How long a client may go on sending after the last answer of its connection.
const LINGER_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked at what a client has taken while the socket takes no more: so often in the time that it may take nothing.
const CHECKS: u32 = 6;

/// How far a connection is, and since when it waits for its client: what decides on how long it may stay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    phase: Phase,
    /// When the phase began.
    since: Instant,
    /// When the first request began of those that came without a pause.
    exchange_since: Instant,
    /// The client has sent nothing that has not been read, in this phase.
    starved: bool,
    stall: Option<Stall>,
    /// How long the client may take nothing of what is to be written to it.
    stall_timeout: Duration,
    /// What the token is good for that its last request has shown.
    role: Option<Role>,
    /// The client may take nothing for as long as its system answers.
    may_pause: bool,
    /// Its place is wanted: it ends when it would wait for its client.
    evicted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing has come.
    New,
    /// A part of a request's head has come.
    Head,
    /// A request is with the application. A connection that becomes a WebSocket stays so.
    Answering,
    /// The end of the answer may still have to be written.
    Answered,
    /// It waits for its next request.
    Idle,
    /// All is written; what the client still sends is thrown away.
    Closing,
}

/// The socket takes no more.
#[derive(Clone, Copy, Debug)]
struct Stall {
    /// When the client has last taken something.
    since: Instant,
    /// When it was last looked at what the client has taken.
    looked: Instant,
    /// How many bytes the socket held then.
    queued: usize,
    /// When the client's system was last heard.
    heard: Instant,
}

/// What the system says of a socket that takes no more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsent {
    /// How many bytes it holds that the client has not taken.
    pub(super) queued: usize,
    /// How long ago the client's system was last heard.
    pub(super) silence: Duration,
}

/// How long a connection may stay as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stay {
    Unlimited,
    /// Then it is to be asked again.
    Until(Instant),
    Over,
}

/// What a connection that waits for its client is worth, when its place is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    /// It is at no request.
    pub(super) idle: bool,
    /// From when on its place may be given to another.
    pub(super) may_go_from: Instant,
}

impl Progress {
    pub(super) fn accepted(now: Instant, stall_timeout: Duration) -> Self {
        Self {
            phase: Phase::New,
            since: now,
            exchange_since: now,
            starved: false,
            stall: None,
            stall_timeout,
            role: None,
            may_pause: false,
            evicted: false,
        }
    }

    fn enter(&mut self, phase: Phase, now: Instant) {
        (self.phase, self.since) = (phase, now);
    }

    /// Bytes have come from the client.
    pub(super) fn received(&mut self, now: Instant) {
        let had_paused = mem::take(&mut self.starved) || self.phase == Phase::New;
        match self.phase {
            Phase::New | Phase::Idle => {
                if had_paused {
                    self.exchange_since = now;
                }
                // The first head's time goes on: a client may be silent for as long as it may be slow.
                if self.phase == Phase::Idle {
                    self.since = now;
                }
                self.phase = Phase::Head;
            }
            Phase::Head | Phase::Answering | Phase::Answered | Phase::Closing => {}
        }
    }

    /// All that has come is read.
    pub(super) fn starved(&mut self) {
        self.starved = true;
    }

    /// The application gets a request, which has shown no token yet. Its place can't be had any more.
    pub(super) fn begin(&mut self, now: Instant) {
        (self.role, self.may_pause, self.evicted) = (None, false, false);
        // A pipelined one was read with the one before.
        if self.phase == Phase::Head || self.phase == Phase::New {
            self.phase = Phase::Answering;
        } else {
            self.enter(Phase::Answering, now);
        }
    }

    /// The application's answer is at its end.
    pub(super) fn answered(&mut self) {
        self.phase = Phase::Answered;
    }

    /// All that there was to be written is with the socket. Returns whether the connection has become idle
    /// by that.
    pub(super) fn flushed(&mut self, now: Instant) -> bool {
        let is_idle = self.phase == Phase::Answered;
        if is_idle {
            self.enter(Phase::Idle, now);
            self.starved = false;
        }
        is_idle
    }

    /// The socket has taken bytes.
    pub(super) fn written(&mut self) {
        self.stall = None;
    }

    /// The socket takes no more; it holds `queued` bytes that the client has not taken.
    pub(super) fn blocked(&mut self, queued: impl FnOnce() -> usize, now: Instant) {
        let stall = || Stall { since: now, looked: now, queued: queued(), heard: now };
        self.stall.get_or_insert_with(stall);
    }

    /// All is written.
    pub(super) fn closing(&mut self, now: Instant) {
        self.enter(Phase::Closing, now);
    }

    pub(super) fn authenticated(&mut self, role: Role) {
        self.role = Some(role);
    }

    /// What it carries can't be asked for again: from now on the client may take nothing for as long as it is there.
    pub(super) fn may_pause(&mut self) {
        self.may_pause = true;
    }

    /// Its place is wanted. Where it has stopped to wait for its client meanwhile, it keeps it.
    pub(super) fn evict(&mut self, now: Instant) {
        self.evicted = self.waiting().is_some_and(|waiting| waiting.may_go_from <= now);
    }

    /// Bytes have come from the client that are still to be read: it did not keep the agent waiting.
    pub(super) fn spare(&mut self) {
        (self.evicted, self.starved) = (false, false);
    }

    /// Whether what its client sends is what it waits for.
    pub(super) fn awaits_request(&self) -> bool {
        matches!(self.phase, Phase::New | Phase::Head | Phase::Idle)
    }

    pub(super) fn is_authenticated(&self) -> bool {
        self.role.is_some()
    }

    /// Whether a request with a read-only token is under way.
    pub(super) fn is_read_only_request(&self) -> bool {
        self.role == Some(Role::ReadOnly)
            && matches!(self.phase, Phase::Answering | Phase::Answered)
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.evicted
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.stall.is_some()
    }

    /// Decides how long it may stay as it is. `unsent` is asked where that depends on what the client
    /// has taken: a client that is slow frees no room in the socket for long, and yet reads.
    pub(super) fn stay(&mut self, unsent: impl FnOnce() -> Unsent, now: Instant) -> Stay {
        let timeout = match self.phase {
            Phase::New | Phase::Head => Some(HEAD_TIMEOUT),
            Phase::Idle => Some(IDLE_TIMEOUT),
            Phase::Closing => Some(LINGER_TIMEOUT),
            Phase::Answering | Phase::Answered => None,
        };
        let end = timeout.map(|timeout| self.since + timeout);
        let check_interval = self.stall_timeout / CHECKS;
        let look = self.stall.as_mut().map(|stall| {
            if now >= stall.looked + check_interval {
                stall.look(unsent(), now);
            }
            let end = if self.may_pause {
                stall.heard + SILENCE_TIMEOUT
            } else {
                stall.since + self.stall_timeout
            };
            (stall.looked + check_interval, end)
        });
        let ends = end.into_iter().chain(look.map(|(_, end)| end));
        if self.evicted || ends.clone().any(|end| end <= now) {
            return Stay::Over;
        }
        ends.chain(look.map(|(look, _)| look)).min().map_or(Stay::Unlimited, Stay::Until)
    }

    /// Whether its client is what it waits for, so that its place may be given to another.
    pub(super) fn waiting(&self) -> Option<Waiting> {
        let idle = Waiting { idle: true, may_go_from: self.since };
        let busy = |may_go_from| Waiting { idle: false, may_go_from };
        match self.phase {
            Phase::Idle | Phase::Closing => Some(idle),
            Phase::New | Phase::Head if self.role != Some(Role::Admin) => {
                self.starved.then(|| busy(self.since + HEAD_GRACE))
            }
            Phase::Answering | Phase::Answered if self.role.is_none() => self.stall.map(|stall| {
                busy((stall.since + STALL_GRACE).min(self.exchange_since + EXCHANGE_GRACE))
            }),
            Phase::New | Phase::Head | Phase::Answering | Phase::Answered => None,
        }
    }
}

impl Stall {
    fn look(&mut self, unsent: Unsent, now: Instant) {
        let Unsent { queued, silence } = unsent;
        if queued < self.queued {
            self.since = now;
        }
        if let Some(heard) = now.checked_sub(silence) {
            self.heard = self.heard.max(heard);
        }
        (self.queued, self.looked) = (queued, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_limits::STALL_TIMEOUT;

    const SECOND: Duration = Duration::from_secs(1);

    /// What there is of a client whose system answers.
    fn unsent(queued: usize) -> Unsent {
        Unsent { queued, silence: Duration::ZERO }
    }

    /// Asks each second, with what the socket holds then, until the connection is over; returns how many
    /// seconds that took, at most so many.
    fn lasts(progress: &mut Progress, queued: impl Fn(u32) -> usize, max: u32) -> u32 {
        let start = Instant::now();
        let over = |second: &u32| {
            let unsent = || unsent(queued(*second));
            progress.stay(unsent, start + SECOND * *second) == Stay::Over
        };
        (0..max).find(over).unwrap_or(max)
    }

    fn at(change: impl FnOnce(&mut Progress, Instant)) -> Progress {
        let now = Instant::now();
        let mut progress = Progress::accepted(now, STALL_TIMEOUT);
        change(&mut progress, now);
        progress
    }

    fn stalled(progress: &mut Progress, now: Instant) {
        progress.begin(now);
        progress.blocked(|| 1000, now);
    }

    #[test]
    fn a_head_has_10_s_however_it_comes() {
        assert_eq!(lasts(&mut at(|_, _| {}), |_| 0, 100), 10);
        let mut slow = at(|_, _| {});
        let start = Instant::now();
        for second in 0..10 {
            let now = start + SECOND * second;
            slow.received(now);
            slow.starved();
            assert_ne!(slow.stay(|| unsent(0), now), Stay::Over);
        }
        assert_eq!(slow.stay(|| unsent(0), start + SECOND * 10), Stay::Over);
    }

    #[test]
    fn an_idle_connection_has_30_s_and_then_10_s_for_a_head() {
        let idle = |progress: &mut Progress, now| {
            progress.received(now);
            progress.begin(now);
            progress.answered();
            assert!(progress.flushed(now));
        };
        assert_eq!(lasts(&mut at(idle), |_| 0, 100), 30);
        let second = |progress: &mut Progress, now| {
            idle(progress, now);
            progress.received(now);
        };
        assert_eq!(lasts(&mut at(second), |_| 0, 100), 10);
    }

    #[test]
    fn what_is_answered_has_all_the_time_as_long_as_nothing_waits_for_the_client() {
        let mut answering = at(|progress, now| {
            progress.received(now);
            progress.begin(now);
        });
        assert_eq!(
            answering.stay(|| unsent(0), Instant::now() + SECOND * 100_000),
            Stay::Unlimited
        );
        // The pings that go out are taken by the client's system.
        answering.written();
        assert_eq!(
            answering.stay(|| unsent(0), Instant::now() + SECOND * 100_000),
            Stay::Unlimited
        );
    }

    #[test]
    fn a_client_that_takes_nothing_is_let_go_after_30_s() {
        assert_eq!(lasts(&mut at(stalled), |_| 1000, 100), 30);
    }

    #[test]
    fn a_client_that_takes_a_byte_each_second_stays() {
        let queued = |second: u32| 100_000 - second as usize;
        assert_eq!(lasts(&mut at(stalled), queued, 86_400), 86_400);
        // When it stops, it has 30 s from then on.
        let queued = |second: u32| 100_000 - second.min(1000) as usize;
        let end = lasts(&mut at(stalled), queued, 86_400);
        assert!((1030..=1035).contains(&end), "{end}");
    }

    #[test]
    fn a_client_that_may_pause_stays_for_as_long_as_its_system_answers() {
        let pausing = |progress: &mut Progress, now| {
            stalled(progress, now);
            progress.may_pause();
        };
        assert_eq!(lasts(&mut at(pausing), |_| 1000, 86_400), 86_400);
        // Its machine goes away after a day. What was asked then it has 6 minutes to answer.
        let mut progress = at(pausing);
        let start = Instant::now();
        let stay = |second: u32| {
            let silence = SECOND * second.saturating_sub(86_400);
            progress.stay(|| Unsent { queued: 1000, silence }, start + SECOND * second)
        };
        let end = (0..100_000).map(stay).position(|stay| stay == Stay::Over).unwrap();
        assert!((86_760..=86_765).contains(&end), "{end}");
        // The next request on the connection is one like others.
        let mut progress = at(pausing);
        stalled(&mut progress, Instant::now());
        assert_eq!(lasts(&mut progress, |_| 1000, 100), 30);
    }

    #[test]
    fn room_in_the_socket_is_progress() {
        let mut progress = at(stalled);
        let now = Instant::now() + SECOND * 29;
        assert_ne!(progress.stay(|| unsent(1000), now), Stay::Over);
        progress.written();
        progress.blocked(|| 2000, now);
        assert_ne!(progress.stay(|| unsent(2000), now + SECOND * 29), Stay::Over);
        assert_eq!(progress.stay(|| unsent(2000), now + SECOND * 30), Stay::Over);
    }

    #[test]
    fn only_what_waits_for_its_client_may_be_evicted() {
        let new = at(|_, _| {});
        assert!(new.waiting().is_none(), "it may have sent what nobody has read");
        let silent = at(|progress, _| progress.starved());
        assert!(!silent.waiting().unwrap().idle);
        let head = |progress: &mut Progress, now| {
            progress.received(now);
            progress.starved();
        };
        assert!(!at(head).waiting().unwrap().idle);
        let answering = |progress: &mut Progress, now| {
            head(progress, now);
            progress.begin(now);
        };
        assert!(at(answering).waiting().is_none());
        assert!(at(stalled).waiting().is_some());
        let idle = |progress: &mut Progress, now| {
            answering(progress, now);
            progress.answered();
            assert!(progress.flushed(now));
        };
        assert!(at(idle).waiting().unwrap().idle);
    }

    #[test]
    fn a_distant_client_has_time_for_its_answer_but_not_without_end() {
        let start = Instant::now();
        let millis = |millis| start + Duration::from_millis(millis);
        let mut progress = Progress::accepted(start, STALL_TIMEOUT);
        progress.received(start);
        progress.starved();
        assert_eq!(progress.waiting().unwrap().may_go_from, millis(50));
        progress.begin(millis(10));
        // What it takes comes in steps, a round trip apart.
        for step in [20, 170] {
            progress.written();
            assert!(progress.waiting().is_none());
            progress.blocked(|| 1000, millis(step));
            assert_eq!(progress.waiting().unwrap().may_go_from, millis(step + 200));
        }
        progress.written();
        progress.blocked(|| 1000, millis(390));
        assert_eq!(progress.waiting().unwrap().may_go_from, millis(400));
        // The next requests were there before it was at its end: it has no more time for them.
        for _ in 0..3 {
            progress.written();
            progress.answered();
            assert!(progress.flushed(millis(395)));
            progress.begin(millis(395));
            progress.blocked(|| 1000, millis(396));
            assert_eq!(progress.waiting().unwrap().may_go_from, millis(400));
        }
        // It was seen to wait for the next one: its place could be had.
        progress.written();
        progress.answered();
        assert!(progress.flushed(millis(500)));
        progress.starved();
        progress.received(millis(1500));
        progress.begin(millis(1500));
        progress.blocked(|| 1000, millis(1500));
        assert_eq!(progress.waiting().unwrap().may_go_from, millis(1700));
    }

    #[test]
    fn who_goes_on_in_the_last_moment_is_not_evicted() {
        let start = Instant::now();
        let mut progress = Progress::accepted(start, STALL_TIMEOUT);
        progress.received(start);
        progress.begin(start);
        progress.blocked(|| 1000, start);
        let decided = start + STALL_GRACE;
        progress.written();
        progress.blocked(|| 1000, decided);
        progress.evict(decided);
        assert!(!progress.is_evicted());
        progress.evict(decided + STALL_GRACE);
        assert!(progress.is_evicted());
    }

    #[test]
    fn a_request_that_has_come_in_time_is_served() {
        let now = Instant::now();
        let mut progress = Progress::accepted(now, STALL_TIMEOUT);
        progress.starved();
        progress.evict(now + SECOND);
        assert_eq!(progress.stay(|| unsent(0), now), Stay::Over);
        progress.received(now);
        assert_eq!(progress.stay(|| unsent(0), now), Stay::Over);
        progress.begin(now);
        assert_eq!(progress.stay(|| unsent(0), now), Stay::Unlimited);
        progress.evict(now + SECOND);
        assert_eq!(progress.stay(|| unsent(0), now), Stay::Unlimited);
    }

    #[test]
    fn an_authenticated_client_loses_its_place_only_between_requests() {
        for role in [Role::Admin, Role::ReadOnly] {
            let mut progress = at(stalled);
            progress.authenticated(role);
            assert!(progress.waiting().is_none());
            let now = Instant::now();
            progress.answered();
            assert!(progress.flushed(now) && progress.waiting().unwrap().idle);
            progress.received(now);
            progress.starved();
            let next_head = progress.waiting();
            assert_eq!(next_head.is_some(), role == Role::ReadOnly);
            // The next request has to show a token, too.
            progress.begin(now);
            assert!(progress.waiting().is_some());
        }
    }
}
