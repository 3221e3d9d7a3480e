//! The agent's side: it has the box started, asks it for processes, and hears what becomes of them.

mod children;
mod connection;
mod detach;
mod group;
mod launch;
mod link;
mod outbox;
mod started;
mod waiting;

use std::{
    io,
    os::fd::OwnedFd,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub(crate) use self::{
    children::{hold_reaping, reap_children},
    detach::detach,
    group::Group,
    launch::BoxCommand,
    started::{NotStarted, Started},
};
use self::{
    connection::{Connection, Refused},
    launch::launch,
    started::OnExit,
};
use super::protocol::{ExecKey, StartRequest};
use crate::walls::ToolSettings;

/// The box of an agent, whichever process it is at the moment: where one dies another takes its place with the next start.
#[derive(Debug)]
pub(crate) struct BoxClient {
    command: BoxCommand,
    current: Mutex<Current>,
    /// How many commands there have been.
    keys: AtomicU64,
}

#[derive(Debug)]
enum Current {
    /// There is none yet.
    None,
    Running(Arc<Connection>),
    /// There is none any more.
    Ended,
}

impl BoxClient {
    /// One that is started by that command as soon as there is something to do.
    pub(crate) fn new(command: BoxCommand) -> Self {
        Self { command, current: Mutex::new(Current::None), keys: AtomicU64::new(0) }
    }

    /// Has a box run. It blocks until it takes requests. It needs a runtime.
    ///
    /// # Errors
    /// It can't be started.
    pub(crate) fn run(&self) -> io::Result<()> {
        self.connection().map(drop)
    }

    /// Starts a process, as the leader of a session and group of its own, with the pipes that its standard streams are to be. The key
    /// of the request is set here. It blocks until the program is executed or can't be. It needs a runtime.
    pub(crate) fn start(
        &self,
        mut request: StartRequest,
        pipes: Vec<OwnedFd>,
        on_exit: OnExit,
    ) -> Result<Started, NotStarted> {
        request.key = ExecKey(self.keys.fetch_add(1, Ordering::Relaxed));
        let (mut pipes, mut on_exit) = (pipes, on_exit);
        loop {
            let connection = self.connection().map_err(NotStarted::NoBox)?;
            if !connection.check_mounts() {
                connection.wait_until_buried();
                continue;
            }
            match connection.start(&request, pipes, on_exit) {
                Ok(started) => return started,
                // It was not asked for.
                Err(refused) => Refused { pipes, on_exit } = refused,
            }
            connection.wait_until_buried();
        }
    }

    /// Finds the groups of the commands that processes in the box belong to, each by its id and its start. Where a process is of none,
    /// or nobody can tell, there is none.
    pub(crate) async fn groups_of(&self, processes: Vec<(i32, u64)>) -> Vec<Option<Arc<Group>>> {
        let connection = match &*self.current() {
            Current::Running(connection) => Arc::clone(connection),
            Current::None | Current::Ended => return Vec::new(),
        };
        connection.groups_of(processes).await
    }

    /// Settings in the workspace that its commands can make.
    pub(crate) fn tool_settings(&self) -> Option<Arc<ToolSettings>> {
        self.command.walls.as_ref()?.tool_settings()
    }

    /// Has its mounts be those that the policy needs, before a process in it does something. Where they can't be, the box ends. It may
    /// block for a moment.
    pub(crate) fn check_mounts(&self) {
        let connection = match &*self.current() {
            Current::Running(connection) => Arc::clone(connection),
            Current::None | Current::Ended => return,
        };
        connection.check_mounts();
    }

    /// Whether commands are behind walls, and see other files than the agent.
    pub(crate) fn has_walls(&self) -> bool {
        self.command.walls.is_some()
    }

    /// Whether it has no command, and nothing of one is left.
    pub(crate) fn is_idle(&self) -> bool {
        match &*self.current() {
            Current::Running(connection) => connection.is_idle(),
            Current::None | Current::Ended => true,
        }
    }

    /// Ends the box. What it still has is killed. It blocks until that is done, which takes time only where something holds the box up.
    pub(crate) fn end(&self) {
        let current = std::mem::replace(&mut *self.current(), Current::Ended);
        if let Current::Running(connection) = current {
            connection.end();
        }
    }

    /// That to a box that runs, which may have to be started first.
    fn connection(&self) -> io::Result<Arc<Connection>> {
        let mut current = self.current();
        match &*current {
            Current::Running(connection) if !connection.is_buried() => Ok(Arc::clone(connection)),
            Current::Running(_) | Current::None => {
                let connection =
                    Connection::open(launch(&self.command)?, self.command.walls.is_some())?;
                *current = Current::Running(Arc::clone(&connection));
                Ok(connection)
            }
            Current::Ended => Err(io::Error::other("the agent is stopping")),
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
impl BoxClient {
    /// One whose box is this program of tests.
    pub(crate) fn for_test() -> Self {
        let test = "sandbox::server::tests::the_box_of_other_tests";
        let args = [test, "--exact", "--ignored", "--test-threads=1"];
        let args = args.map(Into::into).into();
        Self::new(BoxCommand {
            program: sandpipe_policy::RUNNING_PROGRAM.into(),
            args,
            walls: None,
        })
    }
}
