use std::{
    io,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::{errno::Errno, sys::signal::Signal, unistd::Pid};
use tokio::{sync::watch, time::timeout};

use super::link::Link;
use crate::sandbox::protocol::{ExecKey, Reached};

/// The processes of one exec: the process group that its process leads, and with a terminal all of the session that it leads too. The
/// box has them; this is how they are reached.
#[derive(Debug)]
pub(crate) struct Group {
    key: ExecKey,
    link: Arc<Link>,
    /// The number of the group, which is also the leader's process id, once it is known.
    id: OnceLock<Pid>,
    /// It was told to stop before its leader was reaped.
    stopped: AtomicBool,
    /// No process of it is left.
    gone: watch::Sender<bool>,
}

impl Group {
    pub(super) fn new(key: ExecKey, link: Arc<Link>) -> Self {
        let gone = watch::Sender::new(false);
        Self { key, link, id: OnceLock::new(), stopped: AtomicBool::new(false), gone }
    }

    /// The number of the group, which is also the leader's process id, as the box sees it.
    pub(crate) fn id(&self) -> Pid {
        self.known_id().unwrap_or(Pid::from_raw(0))
    }

    pub(super) fn known_id(&self) -> Option<Pid> {
        self.id.get().copied()
    }

    pub(super) fn set_id(&self, id: Pid) {
        // It is told once.
        let _known = self.id.set(id);
    }

    /// Sends signals to every member, one after the other; says whom the first one reached. They are sent also where the future is
    /// dropped.
    ///
    /// # Errors
    /// `EPERM` when the box may not signal any of the members.
    pub(crate) fn signal(
        &self,
        signals: &[Signal],
    ) -> impl Future<Output = io::Result<Reached>> + Send + use<> {
        self.send(signals.iter().map(|signal| *signal as i32).collect())
    }

    /// Asks whether a process is left (POSIX, `kill`, "the null signal").
    ///
    /// # Errors
    /// `EPERM` when the box may not signal any of the members.
    pub(crate) fn probe(&self) -> impl Future<Output = io::Result<Reached>> + Send + use<> {
        self.send(vec![0])
    }

    fn send(&self, signals: Vec<i32>) -> impl Future<Output = io::Result<Reached>> + Send + use<> {
        let outcome = (!self.is_gone()).then(|| self.link.signal(self.key, signals));
        async move {
            let Some(outcome) = outcome else {
                return Ok(Reached::Nobody);
            };
            match outcome.await {
                Ok(outcome) => outcome.map_err(|errno| Errno::from_raw(errno).into()),
                // The box died, and what it had was killed.
                Err(_) => Ok(Reached::Nobody),
            }
        }
    }

    /// Waits until no member is left, for at most `limit`; returns whether that came true.
    pub(crate) async fn gone_within(&self, limit: Duration) -> bool {
        let mut gone = self.gone.subscribe();
        let gone = timeout(limit, gone.wait_for(|is_gone| *is_gone)).await;
        gone.is_ok_and(|gone| gone.is_ok())
    }

    /// Whether a signal that stops it was sent while its leader had not been reaped. It is known for good when the leader's exit code
    /// is.
    pub(crate) fn was_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    pub(super) fn set_stopped(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether it was seen that no member is left.
    pub(crate) fn is_gone(&self) -> bool {
        *self.gone.borrow()
    }

    pub(super) fn set_gone(&self) {
        self.gone.send_replace(true);
    }
}
