use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    thread,
    time::Duration,
};

use sandpipe_protocol::{ExecStatus, OutputType};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, oneshot},
};

use super::{
    exec::{Exec, Lifecycle},
    input::Input,
    observe::observe,
    time::Time,
};
use crate::{
    output::Collector,
    process::{
        DescriptorPermit, ExecLimits, Launch, Memory, OutputPipes, Process, ReachedLimit,
        SpawnError, Spawned, spawn,
    },
    sandbox::Group,
};

/// The stack of an exec's thread. The most of it is for the C library, which looks up users.
const STACK: usize = 256 * 1024;

/// The most bytes of memory that a start takes, its thread with it, beside the command's arguments and
/// environment.
const START_MEMORY: usize = 1024 * 1024;

/// How often the arguments and the environment are in memory in a start.
const COPIES: usize = 3;

/// How many processes are started at once: each start that the file system holds up takes a thread and a
/// process.
static STARTS: Semaphore = Semaphore::const_new(128);

/// Why an exec was not started.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("exec {id} can't be started: it is {status:?}, and only a created one can be")]
    NotStartable { id: String, status: ExecStatus },
    #[error("exec {0} has been deleted")]
    Deleted(String),
    #[error("the agent is stopping and starts no more execs")]
    Stopping,
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("the agent failed while it started the process")]
    Panic,
}

/// Does something on a thread of its own, where it may block: no other has to wait then. It gets the
/// memory to start a command of that size.
pub(super) fn on_own_thread(
    size: usize,
    work: impl FnOnce(Memory) + Send + 'static,
) -> Result<(), StartError> {
    let bytes = size.saturating_mul(COPIES).saturating_add(START_MEMORY);
    let memory = Memory::promise(bytes).map_err(SpawnError::set_up)?;
    let runtime = Handle::current();
    let thread = thread::Builder::new().name("exec".into()).stack_size(STACK);
    let spawned = thread.spawn(move || {
        let _context = runtime.enter();
        work(memory);
    });
    spawned.map(drop).map_err(|error: io::Error| SpawnError::no_process(error).into())
}

/// Starts an exec that waits for it; one that runs is left alone.
///
/// The caller lets it run to its end: half of it would be a process that nobody knows of.
pub(crate) async fn start(exec: &Arc<Exec>) -> Result<(), StartError> {
    // Before the lock, so that what waits for its turn can be deleted.
    let turn = STARTS.acquire().await;
    let lifecycle = exec.lifecycle.lock().await;
    let Some(launch) = launch_of(exec, *lifecycle)? else {
        return Ok(());
    };
    let (answer, started) = oneshot::channel();
    let started_exec = Arc::clone(exec);
    on_own_thread(launch.size(), move |memory| {
        let exec = started_exec;
        let started = start_now(&exec, &launch);
        // As large as the request; of no use any more.
        drop((launch, memory));
        match started {
            Ok(Started::Running(observer)) => {
                let _gone = answer.send(Ok(()));
                observer.observe(&exec);
            }
            Ok(Started::NothingToObserve) => drop(answer.send(Ok(()))),
            Err(error) => drop(answer.send(Err(error))),
        }
    })?;
    let started = started.await.unwrap_or(Err(StartError::Panic));
    drop((lifecycle, turn));
    started
}

/// Starts an exec that nobody else knows yet, on this thread; `None` where it has to wait for its turn. It
/// blocks until the process runs, which is to be observed then.
pub(super) fn start_at_once(exec: &Arc<Exec>) -> Result<Option<Started>, StartError> {
    let (Ok(_turn), Ok(lifecycle)) = (STARTS.try_acquire(), exec.lifecycle.try_lock()) else {
        return Ok(None);
    };
    match launch_of(exec, *lifecycle)? {
        Some(launch) => start_now(exec, &launch).map(Some),
        None => Ok(Some(Started::NothingToObserve)),
    }
}

/// How to start an exec, while its lifecycle is held; `None` where it runs already.
fn launch_of(exec: &Exec, lifecycle: Lifecycle) -> Result<Option<Arc<Launch>>, StartError> {
    match lifecycle {
        Lifecycle::Open => {}
        Lifecycle::Stopping => return Err(StartError::Stopping),
        Lifecycle::Deleted => return Err(StartError::Deleted(exec.id.clone())),
    }
    let state = exec.state();
    match (&state.status, &state.launch) {
        (ExecStatus::Created, Some(launch)) => Ok(Some(Arc::clone(launch))),
        (ExecStatus::Running, _) => Ok(None),
        (status, _) => {
            Err(StartError::NotStartable { id: exec.id.clone(), status: status.clone() })
        }
    }
}

/// What a start leaves to be done.
pub(super) enum Started {
    /// The process runs, and its output and exit code are to be taken.
    Running(Box<Observer>),
    /// The command can't be executed, or was started before.
    NothingToObserve,
}

/// All that it takes to observe a process to its end.
pub(super) struct Observer {
    output: OutputPipes,
    exit: oneshot::Receiver<i32>,
    ended: oneshot::Sender<()>,
    descriptors: DescriptorPermit,
    limits: ExecLimits,
}

impl Observer {
    /// Observes it on this thread. It blocks until it is over.
    pub(super) fn observe(self, exec: &Arc<Exec>) {
        let Self { output, exit, ended, descriptors, limits } = self;
        let collector = Collector::new(Arc::clone(&exec.spool));
        observe(exec, collector, output, exit, ended, descriptors, limits);
    }
}

/// Starts an exec, while its lifecycle is held. Where the agent fails in the middle, nothing is left of it.
fn start_now(exec: &Arc<Exec>, launch: &Launch) -> Result<Started, StartError> {
    let started = catch_unwind(AssertUnwindSafe(|| spawn_process(exec, launch)));
    started.unwrap_or_else(|_| {
        exec.set_outcome_unknown();
        Err(StartError::Panic)
    })
}

fn spawn_process(exec: &Arc<Exec>, launch: &Launch) -> Result<Started, StartError> {
    let descriptors = launch.acquire_descriptors().map_err(SpawnError::from)?;
    // Before there is a process, whose end must not need what may not be there any more.
    exec.reserve_end();
    let resized = exec.state().size;
    match spawn(launch, resized, descriptors).inspect_err(|_| exec.unreserve_end())? {
        Spawned::Running(process) => {
            let observer = set_running(exec, *process, launch);
            // An agent that starts later is to know the process id too. Before it can end: its end is
            // written after it.
            exec.write_record();
            Ok(Started::Running(Box::new(observer)))
        }
        Spawned::CannotRun { exit_code, reason } => {
            let mut collector = Collector::new(Arc::clone(&exec.spool));
            collector.push_bytes(OutputType::Stderr, reason.as_bytes());
            exec.end(exit_code);
            Ok(Started::NothingToObserve)
        }
        Spawned::OutcomeUnknown => {
            // It counts as run: nobody is to run it again.
            exec.set_outcome_unknown();
            Ok(Started::NothingToObserve)
        }
    }
}

/// Returns what it takes to observe the process.
fn set_running(exec: &Arc<Exec>, process: Process, launch: &Launch) -> Observer {
    let Process { group, exit, output, input, terminal, descriptors, limit_group } = process;
    let pid = group.id().as_raw().unsigned_abs();
    // First of all: with it, what fails from here on ends the process.
    exec.state().group = Some(Arc::clone(&group));
    if let Some(limit) = launch.limits.wall_time {
        tokio::spawn(end_after(limit, group, Arc::downgrade(exec)));
    }
    let (ended, watch_end) = oneshot::channel::<()>();
    let input = input.and_then(|fd| {
        Input::open(fd, watch_end, Arc::clone(&exec.input_ended))
            .inspect_err(|error| tracing::error!(%error, id = exec.id, "standard input is closed"))
            .ok()
    });
    let mut state = exec.state();
    state.status = ExecStatus::Running;
    state.started_at = Some(Time::now());
    state.launch = None;
    state.pid = pid;
    state.input = input;
    state.waker = Arc::downgrade(output.waker());
    // It may have come while the process was being started.
    let resized =
        terminal.as_ref().zip(state.size.take()).map(|(terminal, size)| terminal.resize(size));
    if let Some(Err(error)) = resized {
        tracing::warn!(%error, id = exec.id, "the terminal can't be resized");
    }
    state.terminal = terminal;
    drop(state);
    exec.changed();
    let limits = ExecLimits {
        of_command: launch.limits,
        group: limit_group,
        tool_settings: launch.process_box.tool_settings(),
    };
    Observer { output, exit, ended, descriptors, limits }
}

/// Ends an exec of which somebody is left after so long.
async fn end_after(limit: Duration, group: Arc<Group>, exec: Weak<Exec>) {
    if !group.gone_within(limit).await
        && let Some(exec) = exec.upgrade()
    {
        exec.end_by(ReachedLimit::WallTime(limit));
    }
}
