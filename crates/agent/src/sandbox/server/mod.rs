//! The box's side: one thread, which waits for requests and for the ends of its children.

mod child;
mod close_inherited;
mod group;
mod leaf;
mod outbox;
mod program;
mod start;
mod survey;
mod table;
mod terminal;
mod wait;

use std::{
    collections::VecDeque,
    env, io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use nix::{
    libc,
    sys::{
        signal::{SigSet, Signal},
        signalfd::{SfdFlags, SignalFd},
    },
    unistd::Pid,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::RecvFlags,
    process::{DumpableBehavior, set_dumpable_behavior},
};

use self::{close_inherited::close_inherited, outbox::Outbox, table::Table};
use super::{
    channel,
    protocol::{Decoder, Report, Request},
};
use crate::walls;

/// What the box is called in the list of processes.
const NAME: &std::ffi::CStr = c"sandpipe-box";
/// The argument that makes the program a box.
pub(crate) const ROLE: &str = "box";
/// How much is read of requests at once.
const BUFFER: usize = 64 * 1024;
/// How long what is left may take to end when the agent is gone. Only the system itself can hold it up.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether this process was started to be a box.
#[must_use]
pub fn is_box() -> bool {
    env::args_os().nth(1).is_some_and(|role| role == ROLE)
}

/// Runs a box until its agent is gone. Standard input is the socket to that. No other thread may run.
///
/// # Errors
/// It is not a box that an agent started, or the system refuses what it can't do without. Nothing that it started is left.
pub fn run_box() -> io::Result<()> {
    let signals = prepare()?;
    let mut server = Server {
        signals,
        requests: Decoder::default(),
        descriptors: VecDeque::new(),
        table: Table::new()?,
        outbox: Outbox::default(),
        buffer: vec![0; BUFFER],
    };
    let outcome = server.serve();
    server.table.kill_all(Instant::now() + END_TIMEOUT);
    outcome
}

/// Makes this process one that has nothing but its socket, is told of its children, and does not end with those that it starts.
fn prepare() -> io::Result<SignalFd> {
    if is_box() {
        walls::begin_box()?;
    }
    close_inherited()?;
    if is_box() {
        walls::prepare_box()?;
    }
    // Nobody may look into it or at what it was started with (prctl(2), PR_SET_DUMPABLE). Only an emulated system can refuse that.
    let _unknown = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _unnamed = nix::sys::prctl::set_name(NAME);
    // What loses its parent falls to it. It does so anyway to process 1 of a namespace; qemu-user, which runs programs of another
    // machine, knows no subreaper, and there it falls to the agent.
    let _unknown = nix::sys::prctl::set_child_subreaper(true);
    for signal in 1..=libc::SIGRTMAX() {
        let ignored = child::IGNORED.contains(&signal);
        child::set_action(signal, if ignored { libc::SIG_IGN } else { libc::SIG_DFL });
    }
    let children = SigSet::from(Signal::SIGCHLD);
    children.thread_set_mask()?;
    Ok(SignalFd::with_flags(&children, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// The socket to the agent.
fn socket() -> BorrowedFd<'static> {
    rustix::stdio::stdin()
}

struct Server {
    signals: SignalFd,
    requests: Decoder,
    /// Those that came with requests which are not complete yet.
    descriptors: VecDeque<OwnedFd>,
    table: Table,
    outbox: Outbox,
    buffer: Vec<u8>,
}

impl Server {
    /// Serves until the agent is gone.
    fn serve(&mut self) -> io::Result<()> {
        self.outbox.push(&Report::Ready(self.table.marks().to_owned()))?;
        loop {
            self.outbox.flush(socket())?;
            let (is_readable, has_signal) = self.wait()?;
            // What has ended is told at once, before it is looked what is left of it, and before what is asked is answered.
            if has_signal {
                // However many there were: of one signal there is one at a time.
                self.signals.read_signal()?;
                self.table.reap(&mut self.outbox)?;
                self.outbox.flush(socket())?;
            }
            self.table.look_if_due(Instant::now(), &mut self.outbox)?;
            if is_readable && !self.read()? {
                return Ok(());
            }
        }
    }

    /// Waits for something to do; returns whether the socket has something, and whether a child may have ended.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let events =
            if self.outbox.is_empty() { PollFlags::IN } else { PollFlags::IN | PollFlags::OUT };
        let socket = socket();
        let signals = self.signals.as_fd();
        let mut polled = [PollFd::new(&socket, events), PollFd::new(&signals, PollFlags::IN)];
        let timeout = match self.table.next_look() {
            Some(at) => {
                let left = at.saturating_duration_since(Instant::now());
                Some(Timespec::try_from(left).map_err(io::Error::other)?)
            }
            None => None,
        };
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok((false, true)),
            Err(error) => return Err(error.into()),
        }
        let [socket, signals] = polled;
        let some = PollFlags::IN | PollFlags::HUP | PollFlags::ERR;
        Ok((socket.revents().intersects(some), !signals.revents().is_empty()))
    }

    /// Reads some requests and does what they ask for; returns whether there may be more.
    fn read(&mut self) -> io::Result<bool> {
        let received = channel::receive(
            socket(),
            &mut self.buffer,
            &mut self.descriptors,
            RecvFlags::DONTWAIT,
        );
        let count = match received {
            Ok(0) => return Ok(false),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        self.requests.feed(self.buffer.get(..count).unwrap_or_default());
        while let Some(request) = self.requests.next().map_err(io::Error::other)? {
            match request {
                Request::Start(request) => {
                    let count = request.descriptors().min(self.descriptors.len());
                    let descriptors = self.descriptors.drain(..count).collect();
                    self.table.start(&request, descriptors, &mut self.outbox)?;
                }
                Request::Find { number, processes } => {
                    let find = |(pid, started)| self.table.find(Pid::from_raw(pid), started);
                    let keys = processes.into_iter().map(find).collect();
                    self.outbox.push(&Report::Found { number, keys })?;
                }
                Request::Signal { number, key, signals } => {
                    let outcome = self.table.signal(key, &signals, &mut self.outbox)?;
                    self.outbox.push(&Report::Signalled { number, outcome })?;
                }
                Request::RemoveAtEnd(cgroup) => self.table.remove_at_end(cgroup),
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use nix::unistd::{ForkResult, fork};

    use super::*;

    /// No test but what others start.
    #[test]
    #[ignore = "it is a box, which needs an agent"]
    fn the_box_of_other_tests() {
        // SAFETY: of the threads of this program only this one does anything. The child has no other.
        #[allow(unsafe_code)]
        if let ForkResult::Child = unsafe { fork() }.unwrap() {
            run_box().unwrap();
        }
        std::process::exit(0);
    }
}
