//! Runs futures in virtual time. Nothing waits for real, and the seed decides which task goes first.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;

/// How long a run may take, in virtual milliseconds.
const MAX_RUN_MS: f64 = 24.0 * 60.0 * 60.0 * 1000.0;

/// How often futures may be polled in a run.
const MAX_POLLS: u64 = 500_000;

/// An executor with a clock of its own. Clones share their state.
#[derive(Clone)]
pub(crate) struct Executor(Rc<Inner>);

struct Inner {
    now_us: Cell<u64>,
    polls: Cell<u64>,
    random: RefCell<fastrand::Rng>,
    tasks: RefCell<Vec<Option<Task>>>,
    /// The tasks that are to be polled.
    ready: Arc<Mutex<Vec<usize>>>,
    /// The timers by when they are due, in microseconds, and by age. The waker is that of the last poll.
    timers: RefCell<BTreeMap<(u64, u64), Option<Waker>>>,
    next_timer: Cell<u64>,
}

struct Task {
    owner: Owner,
    future: LocalBoxFuture<'static, ()>,
    waker: Arc<TaskWaker>,
}

/// Whose task it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The client: it must be over when the client is.
    Client,
    /// The simulation.
    Simulation,
}

struct TaskWaker {
    task: usize,
    is_ready: AtomicBool,
    ready: Arc<Mutex<Vec<usize>>>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_ready.swap(true, Ordering::Relaxed) {
            self.ready.lock().unwrap_or_else(PoisonError::into_inner).push(self.task);
        }
    }
}

/// Resolves when its time has come. A timer that has been dropped does not move the clock.
pub(crate) struct Sleep {
    executor: Executor,
    /// Its key in `timers`, where it is until it is due; None if it never is.
    key: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(key) = self.key else {
            return Poll::Pending;
        };
        match self.executor.0.timers.borrow_mut().get_mut(&key) {
            None => Poll::Ready(()),
            Some(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            self.executor.0.timers.borrow_mut().remove(&key);
        }
    }
}

impl Executor {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Rc::new(Inner {
            now_us: Cell::default(),
            polls: Cell::default(),
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            tasks: RefCell::default(),
            ready: Arc::default(),
            timers: RefCell::default(),
            next_timer: Cell::default(),
        }))
    }

    /// Virtual milliseconds since the beginning.
    #[expect(clippy::cast_precision_loss, reason = "a day has fewer microseconds than that")]
    pub(crate) fn now_ms(&self) -> f64 {
        self.0.now_us.get() as f64 / 1000.0
    }

    /// How often futures have been polled.
    pub(crate) fn polls(&self) -> u64 {
        self.0.polls.get()
    }

    /// Waits so many milliseconds from this call on; for ever if they are infinite.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a conversion saturates"
    )]
    pub(crate) fn sleep(&self, ms: f64) -> Sleep {
        let key = ms.is_finite().then(|| {
            let number = self.0.next_timer.replace(self.0.next_timer.get() + 1);
            (self.0.now_us.get().saturating_add((ms * 1000.0).ceil() as u64), number)
        });
        self.0.timers.borrow_mut().extend(key.map(|key| (key, None)));
        Sleep { executor: self.clone(), key }
    }

    /// Runs a task to its end.
    pub(crate) fn spawn(&self, owner: Owner, future: impl Future<Output = ()> + 'static) {
        let mut tasks = self.0.tasks.borrow_mut();
        let waker = Arc::new(TaskWaker {
            task: tasks.len(),
            is_ready: AtomicBool::default(),
            ready: self.0.ready.clone(),
        });
        waker.wake_by_ref();
        tasks.push(Some(Task { owner, future: Box::pin(future), waker }));
    }

    /// Runs a future, and all that is spawned meanwhile, until the future is done.
    ///
    /// # Errors
    /// It does not end.
    pub(crate) fn run<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<T, &'static str> {
        let result = Rc::new(RefCell::new(None));
        let place = result.clone();
        self.spawn(Owner::Simulation, async move {
            let value = future.await;
            place.replace(Some(value));
        });
        loop {
            if let Some(value) = result.take() {
                return Ok(value);
            }
            if self.polls() > MAX_POLLS {
                return Err("it polls without end");
            }
            if !self.poll_one() && !self.fire_timer() {
                return Err("it waits for nothing that will come");
            }
            if self.now_ms() > MAX_RUN_MS {
                return Err("it does not end within a day");
            }
        }
    }

    /// How many tasks of an owner are not over.
    pub(crate) fn count_tasks(&self, owner: Owner) -> usize {
        self.0.tasks.borrow().iter().flatten().filter(|task| task.owner == owner).count()
    }

    /// Drops all tasks: they hold what holds the executor.
    pub(crate) fn clear(&self) {
        loop {
            // What is dropped may spawn.
            let tasks = self.0.tasks.take();
            if tasks.is_empty() {
                return;
            }
            drop(tasks);
        }
    }

    /// Polls one of the tasks that are ready; false if none is.
    fn poll_one(&self) -> bool {
        let place = {
            let mut ready = self.0.ready.lock().unwrap_or_else(PoisonError::into_inner);
            if ready.is_empty() {
                return false;
            }
            let chosen = self.0.random.borrow_mut().usize(..ready.len());
            ready.swap_remove(chosen)
        };
        // It may spawn: no borrow may be held while it is polled or dropped.
        let Some(mut task) = self.0.tasks.borrow_mut()[place].take() else {
            return true;
        };
        task.waker.is_ready.store(false, Ordering::Relaxed);
        self.0.polls.set(self.0.polls.get() + 1);
        let waker = Waker::from(task.waker.clone());
        if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            self.0.tasks.borrow_mut()[place] = Some(task);
        }
        true
    }

    /// Moves the clock to the next timer; false if there is none.
    fn fire_timer(&self) -> bool {
        let Some(((due_us, _), waker)) = self.0.timers.borrow_mut().pop_first() else {
            return false;
        };
        self.0.now_us.set(due_us.max(self.0.now_us.get()));
        if let Some(waker) = waker {
            waker.wake();
        }
        true
    }
}
