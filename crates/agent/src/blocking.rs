//! Threads for what the file system may hold up, or takes long. All of them are there when the agent begins: at the
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

/// Those that read output. What runs has a thread of its own.
static READERS: Pool = Pool::of(6);
/// Those that remove it: a large output takes its time, and no reader is to wait for that.
static REMOVERS: Pool = Pool::of(2);
/// The one that looks through all processes for what a box left. More would wait for each other.
static SCANNER: Pool = Pool::of(1);
/// Those that read and write files for clients: a disk that is slow holds up neither output nor commands.
static TRANSFERS: Pool = Pool::of(6);
/// The stack of each: what they do calls nothing deep.
const STACK: usize = 256 * 1024;

/// Why a job was not run to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRun {
    #[error("the system has no room for a thread: {0}")]
    NoThread(io::Error),
    #[error("the agent failed in the middle of it")]
    Panic,
}

impl From<NotRun> for io::Error {
    fn from(not_run: NotRun) -> Self {
        Self::other(not_run)
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// Some threads, and what waits for them.
struct Pool {
    size: usize,
    queue: Mutex<Queue>,
    added: Condvar,
}

struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
}

/// Starts the threads that are not there yet.
///
/// # Errors
/// When the system has no room for one.
pub(crate) fn start() -> io::Result<()> {
    READERS.start()?;
    REMOVERS.start()?;
    TRANSFERS.start()?;
    SCANNER.start()
}

/// Reads something on one of the threads. It is done also where the future is dropped.
///
/// # Errors
/// When it panics.
pub(crate) async fn run<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    READERS.run(job).await
}

/// Removes something on one of the threads. It is done also where the future is dropped.
///
/// # Errors
/// When it panics.
pub(crate) async fn remove<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    REMOVERS.run(job).await
}

/// Reads or writes something of a client's on one of the threads. It is done also where the future is dropped.
///
/// # Errors
/// When it panics.
pub(crate) async fn transfer<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    TRANSFERS.run(job).await
}

/// Does something on the thread that looks through processes: one after the other, in the order in which it
/// comes. It is done also where the future is dropped.
///
/// # Errors
/// When it panics.
pub(crate) async fn scan<T: Send + 'static>(
    job: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotRun> {
    SCANNER.run(job).await
}

impl Pool {
    const fn of(size: usize) -> Self {
        let queue = Mutex::new(Queue { jobs: VecDeque::new(), threads: 0 });
        Self { size, queue, added: Condvar::new() }
    }

    fn start(&'static self) -> io::Result<()> {
        let mut queue = self.queue();
        while queue.threads < self.size {
            let thread = thread::Builder::new().name("files".into()).stack_size(STACK);
            thread.spawn(|| self.work())?;
            queue.threads += 1;
        }
        Ok(())
    }

    async fn run<T: Send + 'static>(
        &'static self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NotRun> {
        // An agent has started them long before.
        self.start().map_err(NotRun::NoThread)?;
        let (done, result) = oneshot::channel();
        let job = move || {
            // Nobody may be there any more who waits for it.
            let _gone = done.send(job());
        };
        self.queue().jobs.push_back(Box::new(job));
        self.added.notify_one();
        result.await.map_err(|_| NotRun::Panic)
    }

    fn work(&self) {
        loop {
            let job = {
                let mut queue = self.queue();
                loop {
                    if let Some(job) = queue.jobs.pop_front() {
                        break job;
                    }
                    queue = self.added.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
            };
            // One that panics has said so, and its caller sees it.
            let _panicked: Result<(), Box<dyn Any + Send>> = catch_unwind(AssertUnwindSafe(job));
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn what_panics_is_told_and_takes_no_thread_away() {
        for _ in 0..2 * READERS.size {
            assert!(matches!(run(|| panic!("as it is to")).await, Err(NotRun::Panic)));
        }
        assert_eq!(run(|| 7).await.unwrap(), 7);
        assert_eq!(READERS.queue().threads, READERS.size);
    }

    #[tokio::test]
    async fn what_is_removed_holds_up_no_reader() {
        let mut held = Vec::new();
        let removing: Vec<_> = (0..20)
            .map(|_| {
                let (release, released) = mpsc::channel::<()>();
                held.push(release);
                tokio::spawn(remove(move || released.recv().unwrap_err()))
            })
            .collect();
        // Those that removes have begun before.
        tokio::task::yield_now().await;
        let read = timeout(Duration::from_secs(30), run(|| 7)).await;
        drop(held);
        assert_eq!(read.expect("a reader waits for a removal").unwrap(), 7);
        for removed in removing {
            removed.await.unwrap().unwrap();
        }
    }
}
