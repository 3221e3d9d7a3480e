use tokio::time::Instant;

use super::progress::{Progress, Waiting};

/// Which part of the places connections may have that have not shown a token.
const UNAUTHENTICATED_SHARE: usize = 4;
/// How many of those there may be in any case: each may hold as much memory as a head may be large.
const MAX_UNAUTHENTICATED: usize = 512;

/// Which part of the places requests with a read-only token may have.
const READ_ONLY_SHARE: usize = 2;

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionLimits {
    all: usize,
    unauthenticated: usize,
    /// How many may have a request with a read-only token under way.
    read_only: usize,
}

/// That so many requests with a read-only token may be under way, and are.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} requests with the read-only token or scoped ones are under way, and there may be no more: end one, or try again \
     later"
)]
pub(crate) struct NoReadOnlyPlace(usize);

/// What is decided about a connection that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// There is a place.
    Admit,
    /// There is one when this connection is gone.
    Evict(u64),
    /// There is none until something changes, or until this time.
    Wait(Option<Instant>),
}

impl ConnectionLimits {
    pub(super) fn of(all: usize) -> Self {
        let unauthenticated = (all / UNAUTHENTICATED_SHARE).clamp(1, MAX_UNAUTHENTICATED);
        let read_only = (all / READ_ONLY_SHARE).max(1);
        Self { all: all.max(1), unauthenticated, read_only }
    }

    /// Whether there is a place where there are only so many connections, whatever they do.
    pub(super) fn leave_room(self, connections: usize) -> bool {
        connections < self.unauthenticated
    }

    /// Decides about a request that has shown a read-only token.
    pub(super) fn admit_read_only(
        self,
        others: impl Iterator<Item = Progress>,
    ) -> Result<(), NoReadOnlyPlace> {
        if others.filter(Progress::is_read_only_request).count() < self.read_only {
            Ok(())
        } else {
            Err(NoReadOnlyPlace(self.read_only))
        }
    }

    /// Decides about one more connection, which has shown no token yet.
    ///
    /// Where those that have shown none have all their places, one of them goes that waits for its
    /// client: one that is at no request, or else the one whose time is over first. So a client always gets to show its
    /// token, however many others come. Where all places are taken, it is any connection that is at no request, or else
    /// one as before, or one whose last token was read-only and whose next request has not come; a request that is
    /// authenticated is never cut short.
    pub(super) fn admit(
        self,
        connections: impl Iterator<Item = (u64, Progress)>,
        now: Instant,
    ) -> Admission {
        let mut all = Group::default();
        let mut unauthenticated = Group::default();
        for (id, progress) in connections {
            all.add(id, &progress);
            if !progress.is_authenticated() {
                unauthenticated.add(id, &progress);
            }
        }
        let (group, limit) = if unauthenticated.count >= self.unauthenticated {
            (unauthenticated, self.unauthenticated)
        } else if all.count >= self.all {
            (all, self.all)
        } else {
            return Admission::Admit;
        };
        match group.first {
            // One that goes already makes room.
            _ if group.count - group.evicted < limit => Admission::Wait(None),
            Some((_, waiting)) if waiting.may_go_from > now => {
                Admission::Wait(Some(waiting.may_go_from))
            }
            Some((id, _)) => Admission::Evict(id),
            None => Admission::Wait(None),
        }
    }
}

/// Connections that share a limit.
#[derive(Default)]
struct Group {
    count: usize,
    evicted: usize,
    /// Which one is to go first, if one may go.
    first: Option<(u64, Waiting)>,
}

impl Group {
    fn add(&mut self, id: u64, progress: &Progress) {
        self.count += 1;
        if progress.is_evicted() {
            self.evicted += 1;
            return;
        }
        let order = |waiting: &Waiting| (!waiting.idle, waiting.may_go_from);
        if let Some(waiting) = progress.waiting()
            && self.first.as_ref().is_none_or(|(_, first)| order(&waiting) < order(first))
        {
            self.first = Some((id, waiting));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{time_limits::STALL_TIMEOUT, token::Role};
    use proptest::prelude::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Clone, Copy, Debug)]
    enum Kind {
        /// Accepted, and the client has sent nothing.
        Silent,
        /// A part of a head has come.
        Head,
        /// An asset that is not read.
        Unread,
        /// The agent is at its answer.
        Busy,
        Idle,
        /// A stream.
        AdminBusy,
        /// A stream that is not read.
        AdminUnread,
        AdminIdle,
        ReadOnlyBusy,
        ReadOnlyUnread,
        ReadOnlyIdle,
        /// A part of its next head has come.
        ReadOnlyHead,
    }
    use Kind::{
        AdminBusy, AdminIdle, AdminUnread, Busy, Head, Idle, ReadOnlyBusy, ReadOnlyHead,
        ReadOnlyIdle, ReadOnlyUnread, Silent, Unread,
    };

    fn progress(kind: Kind, since: Instant) -> Progress {
        let mut progress = Progress::accepted(since, STALL_TIMEOUT);
        progress.starved();
        if matches!(kind, Silent) {
            return progress;
        }
        progress.received(since);
        progress.starved();
        if matches!(kind, Head) {
            return progress;
        }
        progress.begin(since);
        match kind {
            AdminBusy | AdminUnread | AdminIdle => progress.authenticated(Role::Admin),
            ReadOnlyBusy | ReadOnlyUnread | ReadOnlyIdle | ReadOnlyHead => {
                progress.authenticated(Role::ReadOnly);
            }
            _ => {}
        }
        if matches!(kind, Unread | AdminUnread | ReadOnlyUnread) {
            progress.blocked(|| 1000, since);
        }
        if matches!(kind, Idle | AdminIdle | ReadOnlyIdle | ReadOnlyHead) {
            progress.answered();
            assert!(progress.flushed(since));
        }
        if matches!(kind, ReadOnlyHead) {
            progress.received(since);
            progress.starved();
        }
        progress
    }

    /// Decides with connections that have been as they are for so many seconds; their ids are their
    /// places in the list.
    fn admit(all: usize, connections: &[(Kind, u32)]) -> Admission {
        let start = Instant::now();
        let now = start + SECOND * 1000;
        let connections = connections.iter().zip(0..);
        let connections =
            connections.map(|((kind, age), id)| (id, progress(*kind, now - SECOND * *age)));
        ConnectionLimits::of(all).admit(connections, now)
    }

    #[test]
    fn those_without_a_token_have_a_quarter() {
        for (all, unauthenticated) in
            [(1, 1), (4, 1), (32, 8), (64, 16), (2048, 512), (10_000, 512)]
        {
            assert_eq!(ConnectionLimits::of(all).unauthenticated, unauthenticated);
        }
    }

    #[test]
    fn requests_with_a_read_only_token_have_half() {
        for (all, read_only) in [(1, 1), (4, 2), (32, 16), (10_000, 5000)] {
            let limits = ConnectionLimits::of(all);
            assert_eq!(limits.read_only, read_only);
            let admits = |requests: usize| {
                let now = Instant::now();
                let requests = [ReadOnlyBusy, ReadOnlyUnread].into_iter().cycle().take(requests);
                // What another can have the place of does not count, nor what the admin does.
                let others = requests.chain([ReadOnlyIdle, ReadOnlyHead, AdminBusy, Head]);
                limits.admit_read_only(others.map(|kind| progress(kind, now))).is_ok()
            };
            assert!(admits(read_only - 1) && !admits(read_only));
        }
    }

    #[test]
    fn there_is_room_until_the_quarter_is_full() {
        assert_eq!(admit(8, &[]), Admission::Admit);
        assert_eq!(admit(8, &[(Head, 1)]), Admission::Admit);
        assert_eq!(admit(8, &[(AdminBusy, 1); 7]), Admission::Admit);
        assert_eq!(admit(8, &[(Head, 1), (Head, 2)]), Admission::Evict(1));
    }

    #[test]
    fn what_is_at_no_request_goes_first_then_whose_time_is_over_first() {
        let order = [(Unread, 3), (Head, 9), (Silent, 7), (Idle, 1)];
        assert_eq!(admit(16, &order), Admission::Evict(3));
        let order = [(Unread, 3), (Head, 9), (Silent, 7), (Busy, 100)];
        assert_eq!(admit(16, &order), Admission::Evict(1));
        // One that came later has less time.
        let now = Instant::now();
        let millis = Duration::from_millis;
        let connections =
            [(0, progress(Unread, now - millis(150))), (1, progress(Head, now - millis(100)))];
        assert_eq!(
            ConnectionLimits::of(8).admit(connections.into_iter(), now),
            Admission::Evict(1)
        );
    }

    #[test]
    fn where_all_places_are_taken_the_longest_idle_connection_goes() {
        let mut connections = [(AdminBusy, 1); 8];
        assert_eq!(admit(8, &connections), Admission::Wait(None));
        connections[3] = (AdminUnread, 1);
        assert_eq!(admit(8, &connections), Admission::Wait(None));
        connections[4] = (Head, 9);
        assert_eq!(admit(8, &connections), Admission::Evict(4));
        connections[2] = (ReadOnlyHead, 10);
        assert_eq!(admit(8, &connections), Admission::Evict(2));
        connections[5] = (AdminIdle, 2);
        connections[6] = (AdminIdle, 3);
        assert_eq!(admit(8, &connections), Admission::Evict(6));
    }

    #[test]
    fn one_that_has_just_come_has_a_moment_to_send_its_request() {
        assert!(matches!(admit(8, &[(Silent, 0), (Head, 0)]), Admission::Wait(Some(_))));
        assert_eq!(admit(8, &[(Silent, 0), (Head, 1)]), Admission::Evict(1));
        // One that has had an answer comes with its next request or not.
        assert_eq!(admit(8, &[(Silent, 0), (Idle, 0)]), Admission::Evict(1));
    }

    #[test]
    fn one_that_is_going_is_waited_for() {
        let now = Instant::now();
        let mut going = progress(Head, now);
        going.evict(now + SECOND);
        let other = progress(Head, now);
        let connections = [(1, going), (2, other)];
        let admission = ConnectionLimits::of(8).admit(connections.into_iter(), now + SECOND);
        assert_eq!(admission, Admission::Wait(None));
    }

    fn kind() -> impl Strategy<Value = Kind> {
        prop::sample::select(vec![
            Silent,
            Head,
            Unread,
            Busy,
            Idle,
            AdminBusy,
            AdminUnread,
            AdminIdle,
            ReadOnlyBusy,
            ReadOnlyUnread,
            ReadOnlyIdle,
            ReadOnlyHead,
        ])
    }

    proptest! {
        /// Whatever others do, a client that comes gets a place as long as authenticated requests do not have
        /// all of them, half of which are then the admin's.
        #[test]
        fn nobody_but_the_admin_holds_up_another(
            all in 4_usize..64,
            connections in prop::collection::vec((kind(), 1_u32..60), 0..64),
        ) {
            let is_read_only = |kind| matches!(kind, ReadOnlyBusy | ReadOnlyUnread);
            let mut read_only = 0;
            let connections: Vec<_> = connections
                .into_iter()
                .filter(|(kind, _)| {
                    read_only += usize::from(is_read_only(*kind));
                    !is_read_only(*kind) || read_only <= ConnectionLimits::of(all).read_only
                })
                // The agent does not wait for anyone with these: they end by themselves.
                .filter(|(kind, _)| !matches!(kind, Busy))
                .take(all)
                .collect();
            let count = |is: &dyn Fn(Kind) -> bool| {
                connections.iter().filter(|(kind, _)| is(*kind)).count()
            };
            let is_admin = |kind| matches!(kind, AdminBusy | AdminUnread);
            let (admin, read_only) = (count(&is_admin), count(&is_read_only));
            match admit(all, &connections) {
                Admission::Admit => {}
                Admission::Evict(id) => {
                    let (kind, _) = connections[usize::try_from(id).unwrap()];
                    prop_assert!(!is_admin(kind) && !is_read_only(kind));
                }
                Admission::Wait(_) => {
                    prop_assert_eq!(admin + read_only, all);
                    prop_assert!(admin >= all / 2);
                }
            }
        }
    }
}
