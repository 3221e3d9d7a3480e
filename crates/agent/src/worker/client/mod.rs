//! The agent's side: it has workers started, and asks them.

mod activity;
mod conversation;
mod error;
mod running;

use std::{
    collections::HashMap,
    os::{fd::OwnedFd, unix::net::UnixStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{sync::Semaphore, time::sleep};

use self::{
    activity::{Activity, Use},
    running::{HandOver, Running},
};
pub(crate) use self::{conversation::Conversation, error::WorkerError};
use super::{operation::Operation, protocol::Request};
use crate::{
    process::{FileLimit, Identity},
    sandbox::{BoxClient, Credentials},
};

/// How long a worker may have nothing to do.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// How many there may be at once, each for another user.
const MAX_WORKERS: usize = 16;
/// How many operations are under way at once: each takes a thread of a worker, and two descriptors.
static OPERATIONS: Semaphore = Semaphore::const_new(16);
/// How many of those are that may take long.
static LONG_OPERATIONS: Semaphore = Semaphore::const_new(8);

/// The workers of an agent, one for each user that was asked for. Where one dies another takes its place with the next operation.
#[derive(Debug)]
pub(crate) struct Workers {
    process_box: Arc<BoxClient>,
    file_limit: FileLimit,
    /// None when there are to be no more.
    users: Mutex<Option<HashMap<Option<Credentials>, Arc<Slot>>>>,
}

/// The place of the worker of one user.
#[derive(Debug)]
struct Slot {
    credentials: Option<Credentials>,
    /// Locked while it is being started.
    running: tokio::sync::Mutex<Option<Arc<Running>>>,
    activity: Activity,
}

impl Workers {
    /// Those in a box. None is started yet.
    pub(crate) fn new(process_box: Arc<BoxClient>, file_limit: FileLimit) -> Self {
        Self { process_box, file_limit, users: Mutex::new(Some(HashMap::new())) }
    }

    /// Has something done with the rights of a user, none for the agent's own; also returns the descriptors that came with the answer.
    ///
    /// Where the future is dropped it may have been done, or is done nevertheless.
    ///
    /// # Errors
    /// It was not done, or nobody knows.
    pub(crate) async fn ask<O: Operation + Into<Request>>(
        &self,
        user: Option<&Identity>,
        operation: O,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(O::Answer, Vec<OwnedFd>), WorkerError> {
        let permits = if O::IS_LONG { &LONG_OPERATIONS } else { &OPERATIONS };
        let _permit = permits.acquire().await;
        let mut conversation = self.open(user, operation, descriptors).await?;
        let answer = conversation.answer().await?;
        Ok((answer, conversation.into_descriptors()))
    }

    /// Begins a conversation with more than one answer.
    ///
    /// # Errors
    /// Nothing was done.
    pub(crate) async fn open<O: Operation + Into<Request>>(
        &self,
        user: Option<&Identity>,
        operation: O,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Conversation, WorkerError> {
        let credentials = user.and_then(Identity::credentials_to_take);
        let (slot, using) = self.slot(credentials)?;
        let (socket, theirs) = UnixStream::pair().map_err(WorkerError::NoRoom)?;
        self.process_box.check_mounts();
        loop {
            let running = slot.running(self).await?;
            match running.hand_over(&theirs).await {
                HandOver::Done => break,
                // Another is started in its place.
                HandOver::Dead => slot.forget(&running).await,
                HandOver::Refused(error) => return Err(WorkerError::NoRoom(error)),
            }
        }
        drop(theirs);
        let conversation = Conversation::open(socket, using).map_err(WorkerError::NoRoom)?;
        conversation.send(&operation.into(), descriptors).await?;
        Ok(conversation)
    }

    /// Ends all workers. There are to be no more.
    pub(crate) fn end(&self) {
        *self.users() = None;
    }

    /// The place of a user's worker, which has something to do from now on.
    fn slot(&self, credentials: Option<Credentials>) -> Result<(Arc<Slot>, Use), WorkerError> {
        let mut users = self.users();
        let users = users.as_mut().ok_or(WorkerError::Stopping)?;
        if let Some(slot) = users.get(&credentials) {
            return Ok((Arc::clone(slot), slot.activity.begin()));
        }
        if users.len() >= MAX_WORKERS {
            let idle = users.iter().filter_map(|(key, slot)| Some((slot.activity.idle()?, key)));
            let longest = idle.max_by_key(|(idle, _)| *idle).map(|(_, key)| key.clone());
            users.remove(&longest.ok_or(WorkerError::TooMany(MAX_WORKERS))?);
        }
        let running = tokio::sync::Mutex::new(None);
        let activity = Activity::new();
        let slot = Arc::new(Slot { credentials: credentials.clone(), running, activity });
        users.insert(credentials, Arc::clone(&slot));
        let using = slot.activity.begin();
        Ok((slot, using))
    }

    fn users(&self) -> MutexGuard<'_, Option<HashMap<Option<Credentials>, Arc<Slot>>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Its worker, which may have to be started first.
    async fn running(self: &Arc<Self>, workers: &Workers) -> Result<Arc<Running>, WorkerError> {
        let mut running = self.running.lock().await;
        if let Some(running) = &*running {
            return Ok(Arc::clone(running));
        }
        let (process_box, limit) = (Arc::clone(&workers.process_box), workers.file_limit);
        let started = Running::start(process_box, limit, self.credentials.clone()).await?;
        let started = Arc::new(started);
        *running = Some(Arc::clone(&started));
        let (slot, worker) = (Arc::downgrade(self), Arc::downgrade(&started));
        tokio::spawn(async move {
            // While it has something to do, or has had lately.
            while let (Some(slot), Some(worker)) = (slot.upgrade(), worker.upgrade()) {
                if slot.end_if_idle(&worker).await {
                    return;
                }
                drop((slot, worker));
                sleep(IDLE_TIMEOUT).await;
            }
        });
        Ok(started)
    }

    /// Ends one that has had nothing to do for a while; returns whether it did. What begins meanwhile has another one started.
    async fn end_if_idle(&self, worker: &Arc<Running>) -> bool {
        let mut running = self.running.lock().await;
        let is_current = running.as_ref().is_some_and(|running| Arc::ptr_eq(running, worker));
        let ends = is_current && self.activity.idle().is_some_and(|idle| idle >= IDLE_TIMEOUT);
        if ends {
            *running = None;
        }
        ends || !is_current
    }

    /// What has died makes room for another.
    async fn forget(&self, worker: &Arc<Running>) {
        let mut running = self.running.lock().await;
        if running.as_ref().is_some_and(|running| Arc::ptr_eq(running, worker)) {
            *running = None;
        }
    }
}
