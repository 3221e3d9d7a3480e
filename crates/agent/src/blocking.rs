//! Threads for what the file system may hold up. All of them are there when the agent begins: at the
//! system's limit on processes, where no thread can be had, they go on.

use std::{
    any::Any,
    collections::VecDeque,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use tokio::sync::oneshot;

/// How many there are. They read output and remove it; what runs has a thread of its own.
const THREADS: usize = 8;
/// The stack of each: what they do calls nothing deep.
const STACK: usize = 256 * 1024;

/// It was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Undone {
    #[error("the system has no room for a thread: {0}")]
    NoThread(io::Error),
    #[error("the agent failed in the middle of it")]
    Panic,
}

impl From<Undone> for io::Error {
    fn from(undone: Undone) -> Self {
        Self::other(undone)
    }
}

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue { jobs: VecDeque::new(), threads: 0 });
static ADDED: Condvar = Condvar::new();

/// Starts the threads that are not there yet.
///
/// # Errors
/// When the system has no room for one.
pub(crate) fn start() -> io::Result<()> {
    let mut queue = queue();
    while queue.threads < THREADS {
        thread::Builder::new().name("files".into()).stack_size(STACK).spawn(work)?;
        queue.threads += 1;
    }
    Ok(())
}

/// Does something on one of the threads. It is done also where the future is dropped.
///
/// # Errors
/// When it panics.
pub(crate) async fn run<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Undone> {
    // An agent has started them long before.
    start().map_err(Undone::NoThread)?;
    let (done, result) = oneshot::channel();
    let job = move || {
        // Nobody may be there any more who waits for it.
        let _gone = done.send(job());
    };
    queue().jobs.push_back(Box::new(job));
    ADDED.notify_one();
    result.await.map_err(|_| Undone::Panic)
}

fn work() {
    loop {
        let job = {
            let mut queue = queue();
            loop {
                if let Some(job) = queue.jobs.pop_front() {
                    break job;
                }
                queue = ADDED.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        };
        // One that panics has said so, and its caller sees it.
        let _panicked: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(job));
    }
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_panics_is_told_and_takes_no_thread_away() {
        for _ in 0..2 * THREADS {
            assert!(matches!(run(|| panic!("as it is to")).await, Err(Undone::Panic)));
        }
        assert_eq!(run(|| 7).await.unwrap(), 7);
        assert_eq!(queue().threads, THREADS);
    }
}
