use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io::{self, IoSliceMut},
    mem::{self, MaybeUninit},
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use nix::fcntl::{FcntlArg, fcntl};
use rustix::{
    event::{PollFd, PollFlags, Timespec, epoll, poll},
    io::{Errno, readv},
};
use sandpipe_protocol::OutputType;

use super::{gathering::Gathering, source::Source, waker::Waker};

/// The key of the waker, beside those of the sources.
const WAKER: u64 = 3;

/// The most that is taken of a terminal after its process has ended: more than its buffers hold.
const TERMINAL_BACKLOG: usize = 64 * 1024;

/// How many bytes a pipe holds unless it is told otherwise, and how many one that has been full.
const PIPE: usize = 64 * 1024;
const LARGE_PIPE: i32 = 256 * 1024;

/// The most that is read at once of what nobody wants.
const DISCARDED: usize = 64 * 1024;

/// Bytes that were read: the first `len` of the room, which is some memory in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PipeChunk {
    pub(crate) kind: OutputType,
    pub(crate) len: usize,
}

/// The pipes, or the terminal, that a process writes its output to. They are read in the order in which it
/// arrives, over both pipes.
///
/// The pipes are watched by an epoll instance of their own, whose ready list is first in, first out:
/// the pipe that became ready first is read first, however late the agent looks. More is not known:
/// of what came to both pipes before the agent looked, each pipe's bytes come out in one piece.
/// They are watched edge-triggered: a level-triggered pipe would keep its old place in the list
/// after it was read, and its next output could overtake the other pipe's.
#[derive(Debug)]
pub(crate) struct OutputPipes {
    queue: Arc<OwnedFd>,
    waker: Arc<Waker>,
    /// It has been woken since the last wait.
    woken: bool,
    sources: BTreeMap<Source, OwnedFd>,
    /// Sources that may hold bytes, in order: an edge is told once, so this must not be lost.
    ready: VecDeque<Source>,
    /// Sources that nobody can write to any more. Their last edge has come: only a read finds the end.
    hung_up: BTreeSet<Source>,
    gathering: Gathering,
    clock: Instant,
    /// Pipes that have been full, and were made larger if that could be.
    enlarged: BTreeSet<Source>,
}

/// What was written before a certain moment and has not been read yet.
#[derive(Debug)]
pub(crate) struct Backlog(VecDeque<(Source, usize)>);

impl OutputPipes {
    /// None yet.
    pub(super) fn new() -> io::Result<Self> {
        let queue = Arc::new(epoll::create(epoll::CreateFlags::CLOEXEC)?);
        let waker = Waker::new(&queue, WAKER)?;
        Ok(Self {
            queue,
            waker: Arc::new(waker),
            woken: false,
            sources: BTreeMap::new(),
            ready: VecDeque::new(),
            hung_up: BTreeSet::new(),
            gathering: Gathering::default(),
            clock: Instant::now(),
            enlarged: BTreeSet::new(),
        })
    }

    /// Watches descriptors, too, which are non-blocking.
    pub(super) fn watch(&mut self, sources: Vec<(Source, OwnedFd)>) -> io::Result<()> {
        for (source, fd) in sources {
            let data = epoll::EventData::new_u64(source.key());
            epoll::add(&self.queue, &fd, data, epoll::EventFlags::IN | epoll::EventFlags::ET)?;
            self.sources.insert(source, fd);
        }
        Ok(())
    }

    /// What ends a wait that is under way, or the next one.
    pub(crate) fn waker(&self) -> &Arc<Waker> {
        &self.waker
    }

    /// How many descriptors it takes.
    pub(crate) fn descriptors(&self) -> usize {
        // What waits for the sources takes one.
        self.sources.len() + 1
    }

    /// Whether nobody can write any more.
    pub(crate) fn is_over(&self) -> bool {
        self.sources.is_empty()
    }

    /// Blocks until there may be something to read, or it is woken.
    pub(crate) fn wait(&mut self) -> io::Result<()> {
        self.wait_at_most(None)?;
        Ok(())
    }

    /// The same for so long at most; returns whether there may be something, or it was woken.
    pub(crate) fn wait_for(&mut self, most: Duration) -> io::Result<bool> {
        let most = Timespec::try_from(most).map_err(io::Error::other)?;
        self.wait_at_most(Some(&most))
    }

    fn wait_at_most(&mut self, most: Option<&Timespec>) -> io::Result<bool> {
        let is_over = mem::take(&mut self.woken) || self.take_ready(most)?;
        self.woken = false;
        Ok(is_over)
    }

    /// Appends the sources that have become ready, in their order. It waits for one, or for being woken,
    /// for so long; returns whether that was so.
    fn take_ready(&mut self, timeout: Option<&Timespec>) -> io::Result<bool> {
        let mut room = [const { MaybeUninit::uninit() }; 4];
        let (events, _) = match epoll::wait(&self.queue, &mut room, timeout) {
            // It is as if it had been woken.
            Err(Errno::INTR) => return Ok(true),
            result => result?,
        };
        let any = !events.is_empty();
        for event in &*events {
            let (flags, data) = (event.flags, event.data);
            if data.u64() == WAKER {
                self.woken = true;
                continue;
            }
            let source = Source::of_key(data.u64());
            if flags.contains(epoll::EventFlags::HUP) {
                self.hung_up.insert(source);
            }
            if !self.ready.contains(&source) {
                self.ready.push_back(source);
            }
        }
        Ok(any)
    }

    /// Reads the next chunk without waiting; `None` where there is nothing now.
    pub(crate) fn read_now(
        &mut self,
        room: &mut [IoSliceMut<'_>],
    ) -> io::Result<Option<PipeChunk>> {
        self.take_ready(Some(&Timespec::default()))?;
        let is_due = self.gather()?;
        while let Some(source) = self.ready.pop_front() {
            let Some(len) = self.read_source(source, room)? else {
                continue;
            };
            self.gathering.note(source, len, is_due, self.clock.elapsed());
            if len >= PIPE {
                self.enlarge(source);
            }
            if self.is_ready_still(source, len == size(room))? {
                self.ready.push_back(source);
            }
            let kind = source.output_type();
            return Ok(Some(PipeChunk { kind, len }));
        }
        Ok(None)
    }

    /// Waits for more where small parts are gathered, as long as nothing comes from elsewhere; returns whether it did. What is there
    /// keeps its place.
    fn gather(&mut self) -> io::Result<bool> {
        let [source] = self.ready.make_contiguous() else {
            return Ok(false);
        };
        let source = *source;
        if !self.gathering.is_due(source, self.clock.elapsed()) {
            return Ok(false);
        }
        // Of the source itself the end alone is waited for, which needs no asking.
        let mut others: Vec<_> = self
            .sources
            .iter()
            .map(|(other, fd)| {
                let events = if *other == source { PollFlags::empty() } else { PollFlags::IN };
                PollFd::new(fd, events)
            })
            .collect();
        let wait = Timespec::try_from(Gathering::WAIT).map_err(io::Error::other)?;
        match poll(&mut others, Some(&wait)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.take_ready(Some(&Timespec::default()))?;
        Ok(true)
    }

    /// Lets a pipe hold more that has been full: its process and the agent have to wait for each other less often. Where the system has
    /// no room for that it stays as it is.
    fn enlarge(&mut self, source: Source) {
        if let Some(fd) = self.sources.get(&source).filter(|_| self.enlarged.insert(source)) {
            let _refused = fcntl(fd, FcntlArg::F_SETPIPE_SZ(LARGE_PIPE));
        }
    }

    /// Measures what has been written up to now. After the process was reaped this is all that it
    /// wrote, and what its descendants go on writing is no part of it.
    pub(crate) fn backlog(&mut self) -> io::Result<Backlog> {
        self.take_ready(Some(&Timespec::default()))?;
        let mut order = self.ready.clone();
        order.extend(self.sources.keys().filter(|source| !self.ready.contains(source)));
        let mut backlog = VecDeque::new();
        for source in order {
            let Some(fd) = self.sources.get(&source) else {
                continue;
            };
            let len = match source {
                Source::Terminal => TERMINAL_BACKLOG,
                Source::Stdout | Source::Stderr => {
                    usize::try_from(rustix::io::ioctl_fionread(fd)?).unwrap_or(usize::MAX)
                }
            };
            backlog.push_back((source, len));
        }
        Ok(Backlog(backlog))
    }

    /// Reads the next chunk of a backlog, without waiting; `None` at its end.
    pub(crate) fn read_backlog(
        &mut self,
        backlog: &mut Backlog,
        room: &mut [IoSliceMut<'_>],
    ) -> io::Result<Option<PipeChunk>> {
        while let Some((source, left)) = backlog.0.pop_front() {
            let mut part = first(room, left);
            if part.is_empty() {
                continue;
            }
            let Some(len) = self.read_source(source, &mut part)? else {
                continue;
            };
            backlog.0.push_back((source, left - len));
            let kind = source.output_type();
            return Ok(Some(PipeChunk { kind, len }));
        }
        Ok(None)
    }

    /// Reads and forgets until nobody can write any more, or it is woken and `enough` is true. A
    /// descendant that outlives the process can go on: a closed pipe would end it by SIGPIPE.
    pub(crate) fn discard(&mut self, enough: impl Fn() -> bool) -> io::Result<()> {
        let mut buffer = vec![0; DISCARDED];
        // What the backlog left behind has had its edge.
        self.ready.extend(self.sources.keys());
        while !enough() {
            if self.read_now(&mut [IoSliceMut::new(&mut buffer)])?.is_some() {
                continue;
            }
            if self.is_over() {
                break;
            }
            self.wait()?;
        }
        Ok(())
    }

    /// Whether a source that was read, into a full buffer or not, has more. The next write to an empty
    /// pipe is an edge, which gives it its place: with an older one it would overtake the other pipe. Of
    /// a terminal it is not known.
    fn is_ready_still(&self, source: Source, full: bool) -> io::Result<bool> {
        if source == Source::Terminal || self.hung_up.contains(&source) {
            return Ok(true);
        }
        match self.sources.get(&source) {
            Some(fd) if full => Ok(rustix::io::ioctl_fionread(fd)? > 0),
            // What gave less than was asked for is empty.
            _ => Ok(false),
        }
    }

    /// One read. `None` where there is nothing now; a source that has ended is closed.
    fn read_source(
        &mut self,
        source: Source,
        room: &mut [IoSliceMut<'_>],
    ) -> io::Result<Option<usize>> {
        let Some(fd) = self.sources.get(&source) else {
            return Ok(None);
        };
        loop {
            match readv(fd, room) {
                Ok(0) => break,
                Ok(len) => return Ok(Some(len)),
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // A terminal that no process has open any more.
                Err(Errno::IO) if source == Source::Terminal => break,
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(ended) = self.sources.remove(&source) {
            // Closing would not be enough for a terminal, whose open file has more descriptors.
            epoll::delete(&self.queue, &ended)?;
        }
        Ok(None)
    }
}

fn size(room: &[IoSliceMut<'_>]) -> usize {
    room.iter().map(|part| part.len()).sum()
}

/// The first so many bytes of the room, or all of it.
fn first<'a>(room: &'a mut [IoSliceMut<'_>], mut len: usize) -> Vec<IoSliceMut<'a>> {
    let mut parts = Vec::new();
    for part in room {
        let taken = len.min(part.len());
        len -= taken;
        parts.extend(part.get_mut(..taken).filter(|part| !part.is_empty()).map(IoSliceMut::new));
    }
    parts
}

#[cfg(test)]
mod tests {
    use nix::unistd::{pipe, write};

    use super::*;

    #[test]
    fn a_read_that_fills_the_buffer_gives_the_pipe_no_earlier_place() {
        let (stdout, to_stdout) = pipe().unwrap();
        let (stderr, to_stderr) = pipe().unwrap();
        for fd in [&stdout, &stderr] {
            rustix::io::ioctl_fionbio(fd, true).unwrap();
        }
        let sources = vec![(Source::Stdout, stdout), (Source::Stderr, stderr)];
        let mut pipes = OutputPipes::new().unwrap();
        pipes.watch(sources).unwrap();
        let mut buffer = [0; 4];
        let (start, end) = buffer.split_at_mut(3);
        let mut room = [IoSliceMut::new(start), IoSliceMut::new(end)];
        write(&to_stdout, b"full").unwrap();
        let chunk = PipeChunk { kind: OutputType::Stdout, len: 4 };
        assert_eq!(pipes.read_now(&mut room).unwrap(), Some(chunk));
        write(&to_stderr, b"e").unwrap();
        write(&to_stdout, b"o").unwrap();
        let mut kinds = Vec::new();
        for _ in 0..2 {
            kinds.push(pipes.read_now(&mut room).unwrap().unwrap().kind);
        }
        assert_eq!(kinds, [OutputType::Stderr, OutputType::Stdout]);
    }
}
