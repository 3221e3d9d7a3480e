//! Runs futures in virtual time. Nothing waits for real, and the seed decides who goes first.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::LocalBoxFuture;

/// How long a run may take, in virtual milliseconds.
const MAX_RUN_MS: f64 = 24.0 * 60.0 * 60.0 * 1000.0;

/// How often futures may be polled in a run.
const MAX_POLLS: u64 = 500_000;

/// An executor with a clock of its own. Clones are the same executor.
#[derive(Clone)]
pub(crate) struct Executor(Rc<Inner>);

struct Inner {
    now_us: Cell<u64>,
    polls: Cell<u64>,
    random: RefCell<fastrand::Rng>,
    tasks: RefCell<Vec<Option<Task>>>,
    ready: Arc<Ready>,
    timers: RefCell<BinaryHeap<Reverse<Timer>>>,
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

/// Why a run did not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stuck {
    /// Nothing is ready, and no timer runs.
    Deadlock,
    /// It takes longer than [`MAX_RUN_MS`].
    TooLong,
    /// It takes more than [`MAX_POLLS`].
    TooBusy,
}

/// The tasks that are to be polled.
#[derive(Default)]
struct Ready(Mutex<Vec<usize>>);

impl Ready {
    fn push(&self, task: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(task);
    }

    /// Takes one of them by chance.
    fn take(&self, random: &mut fastrand::Rng) -> Option<usize> {
        let mut ready = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if ready.is_empty() {
            return None;
        }
        let place = random.usize(..ready.len());
        Some(ready.swap_remove(place))
    }
}

struct TaskWaker {
    task: usize,
    is_ready: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_ready.swap(true, Ordering::Relaxed) {
            self.ready.push(self.task);
        }
    }
}

/// Ordered by when it is due, and then by age.
#[derive(Debug)]
struct Timer {
    due_us: u64,
    number: u64,
    state: Weak<TimerState>,
}

#[derive(Debug, Default)]
struct TimerState {
    is_due: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due_us, self.number).cmp(&(other.due_us, other.number))
    }
}

/// Resolves when its time has come. A timer that has been dropped does not move the clock.
#[derive(Debug)]
pub(crate) struct Sleep(Rc<TimerState>);

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0.is_due.get() {
            return Poll::Ready(());
        }
        self.0.waker.replace(Some(context.waker().clone()));
        Poll::Pending
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
        let state = Rc::new(TimerState::default());
        if ms.is_finite() {
            let number = self.0.next_timer.get();
            self.0.next_timer.set(number + 1);
            let due_us = self.0.now_us.get().saturating_add((ms * 1000.0).ceil() as u64);
            let timer = Timer { due_us, number, state: Rc::downgrade(&state) };
            self.0.timers.borrow_mut().push(Reverse(timer));
        }
        Sleep(state)
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
    pub(crate) fn run<T: 'static>(
        &self,
        future: impl Future<Output = T> + 'static,
    ) -> Result<T, Stuck> {
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
                return Err(Stuck::TooBusy);
            }
            if !self.poll_one() {
                match self.fire_timer() {
                    true if self.now_ms() > MAX_RUN_MS => return Err(Stuck::TooLong),
                    true => {}
                    false => return Err(Stuck::Deadlock),
                }
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

    /// Polls one task that is ready; false if none is.
    fn poll_one(&self) -> bool {
        let Some(place) = self.0.ready.take(&mut self.0.random.borrow_mut()) else {
            return false;
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

    /// Goes to when the next timer is due; false if there is none.
    fn fire_timer(&self) -> bool {
        loop {
            let Some(Reverse(timer)) = self.0.timers.borrow_mut().pop() else {
                return false;
            };
            let Some(state) = timer.state.upgrade() else {
                continue;
            };
            self.0.now_us.set(timer.due_us.max(self.0.now_us.get()));
            state.is_due.set(true);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
            return true;
        }
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor").field("now_ms", &self.now_ms()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::future::{join, select};

    use super::*;

    #[test]
    fn waiting_takes_virtual_time_alone() {
        let executor = Executor::new(1);
        let clock = executor.clone();
        let hours = 23.0 * 60.0 * 60.0 * 1000.0;
        let (short, long) = (executor.sleep(5.0), executor.sleep(hours));
        let times = executor.run(async move {
            short.await;
            let first = clock.now_ms();
            long.await;
            (first, clock.now_ms())
        });
        assert_eq!(times, Ok((5.0, hours)));
    }

    #[test]
    fn a_timer_runs_from_its_making_and_one_that_was_dropped_does_not_move_the_clock() {
        let executor = Executor::new(1);
        let clock = executor.clone();
        let late = executor.run(async move {
            let early = clock.sleep(10.0);
            clock.sleep(30.0).await;
            early.await;
            drop(clock.sleep(1e6));
            let (short, long) = (clock.sleep(1.0), clock.sleep(1e6));
            drop(select(short, long).await);
            clock.sleep(1.0).await;
            clock.now_ms()
        });
        assert_eq!(late, Ok(32.0));
    }

    #[test]
    fn what_never_ends_is_told() {
        assert_eq!(Executor::new(1).run(pending::<()>()), Err(Stuck::Deadlock));
        let executor = Executor::new(1);
        assert_eq!(executor.run(executor.sleep(2.0 * MAX_RUN_MS)), Err(Stuck::TooLong));
        let busy = async {
            loop {
                futures_util::future::ready(()).await;
                let mut is_first = true;
                std::future::poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if std::mem::take(&mut is_first) { Poll::Pending } else { Poll::Ready(()) }
                })
                .await;
            }
        };
        assert_eq!(Executor::new(1).run(busy), Err::<(), _>(Stuck::TooBusy));
    }

    #[test]
    fn a_seed_decides_the_order_and_repeats_it() {
        let order = |seed| {
            let executor = Executor::new(seed);
            let order = Rc::new(RefCell::new(Vec::new()));
            for task in 0..8 {
                let order = order.clone();
                executor.spawn(Owner::Client, async move { order.borrow_mut().push(task) });
            }
            assert_eq!(executor.count_tasks(Owner::Client), 8);
            executor.run(join(executor.sleep(1.0), executor.sleep(2.0))).unwrap();
            assert_eq!(executor.count_tasks(Owner::Client), 0);
            order.take()
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
    }
}
