use std::{
    io::{self, IoSliceMut},
    panic::{AssertUnwindSafe, catch_unwind},
    time::{Duration, Instant},
};

use sandpipe_protocol::OutputType;
use tokio::sync::oneshot;

use super::exec::Exec;
use crate::{
    output::Collector,
    process::{DescriptorPermit, ExecLimits, OutputPipes, PipeChunk, ReachedLimit},
};

/// How long an exec may be silent before the memory goes that its output took on its way.
const PAUSE: Duration = Duration::from_millis(100);

/// Longest time that output is taken after the process has ended, where that is no longer than its
/// longest silence.
const REST: Duration = Duration::from_secs(2);

/// Observes a process: brings its output to the spool, and its exit code after it. It blocks until
/// nobody can write any more output, or the exec is deleted.
///
/// Output is complete when the process has ended and its pipes are at their end, or bring nothing for
/// 200 ms, or [`REST`] has passed. So the last part of a pipeline, such as `tee`, may write after the
/// process. If something stops the exec, output is complete when the process has ended.
///
/// It needs nothing that is not there before the process: no thread, since it has this one, and no
/// descriptor. Where it fails in whatever way the exec is stopped, and its readers are told.
///
/// `ended` is dropped with the process, which closes its standard input.
pub(super) fn observe(
    exec: &Exec,
    collector: impl Collect,
    output: OutputPipes,
    exit: oneshot::Receiver<i32>,
    ended: oneshot::Sender<()>,
    mut descriptors: DescriptorPermit,
    limits: ExecLimits,
) {
    let mut pump =
        OutputPump { output, exit, collector, limit: limits.of_command.output, taken: 0 };
    let seen = catch_unwind(AssertUnwindSafe(|| {
        let exit_code = pump.collect(exec)?;
        drop(ended);
        pump.finish(exec);
        for made in limits.made_settings() {
            tracing::info!(
                setting = made.name(),
                id = exec.id,
                "tool settings were made in the workspace"
            );
            pump.collector.tell(&made.to_string());
        }
        let reached = exec.state().reached.or_else(|| limits.told_by(exit_code));
        if let Some(reached) = reached {
            exec.state().set_reached(reached);
            pump.collector.tell(&reached.to_string());
        }
        exec.end(exit_code);
        Ok(())
    }));
    if let Err(error) = seen.unwrap_or(Err(ObserverError::Panic)) {
        tracing::error!(%error, id = exec.id, "the exec's output and exit code are lost");
        exec.set_outcome_unknown();
        return;
    }
    // Its cgroup goes, unless something of it is left.
    drop(limits);
    descriptors.shrink_to(pump.output.descriptors());
    // Closing the pipes of a deleted one ends what still writes to them; its group has been killed before.
    note(exec, pump.output.discard(|| exec.is_deleted()));
}

/// Where a process's bytes go.
pub(super) trait Collect {
    /// Where the next bytes are to be read to, in this order.
    fn room(&mut self) -> Vec<IoSliceMut<'_>>;

    /// Takes the first `len` bytes of the room, which were read of that stream. It may block.
    fn push(&mut self, kind: OutputType, len: usize);

    /// No bytes come for a while.
    fn rest(&mut self) {}

    /// No more bytes come. It may block.
    fn finish(&mut self);

    /// Says something on standard error. It may block.
    fn tell(&mut self, _text: &str) {}
}

impl Collect for Collector {
    fn room(&mut self) -> Vec<IoSliceMut<'_>> {
        self.room()
    }

    fn push(&mut self, kind: OutputType, len: usize) {
        self.push(kind, len);
    }

    fn rest(&mut self) {
        self.rest();
    }

    fn finish(&mut self) {
        self.finish();
    }

    fn tell(&mut self, text: &str) {
        self.push_bytes(OutputType::Stderr, text.as_bytes());
    }
}

/// The way from the pipes to the spool.
struct OutputPump<C> {
    output: OutputPipes,
    exit: oneshot::Receiver<i32>,
    collector: C,
    /// The most bytes that are taken.
    limit: Option<u64>,
    taken: u64,
}

#[derive(Debug, thiserror::Error)]
enum ObserverError {
    #[error("the agent failed while it took the output")]
    Panic,
    #[error("the process was not reaped")]
    Exit,
    #[error("the agent can't wait for the process: {0}")]
    Wait(io::Error),
}

impl<C: Collect> OutputPump<C> {
    /// Takes output until the process has ended, and returns its exit code.
    fn collect(&mut self, exec: &Exec) -> Result<i32, ObserverError> {
        let mut readable = true;
        loop {
            match self.exit.try_recv() {
                Ok(exit_code) => return Ok(exit_code),
                Err(oneshot::error::TryRecvError::Closed) => return Err(ObserverError::Exit),
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            let taken = if readable { self.take(exec) } else { self.output.wait() };
            match taken {
                Err(error) if !readable => return Err(ObserverError::Wait(error)),
                taken => readable &= note(exec, taken),
            }
        }
    }

    /// Takes a chunk, or waits until there may be one. Where it closed its output and lives on, its end
    /// ends the wait.
    fn take(&mut self, exec: &Exec) -> io::Result<()> {
        match self.output.read_now(&mut self.collector.room())? {
            Some(chunk) => self.push(exec, chunk),
            None if self.output.wait_for(PAUSE)? => {}
            None => {
                self.collector.rest();
                self.output.wait()?;
            }
        }
        Ok(())
    }

    /// Takes the output that is left when the process has ended.
    fn finish(&mut self, exec: &Exec) {
        note(exec, self.take_rest(exec));
        note(exec, self.take_backlog(exec));
        self.collector.finish();
    }

    /// Takes output until the pipes are at their end or silent, time is up, or something stops the exec.
    fn take_rest(&mut self, exec: &Exec) -> io::Result<()> {
        let silence = exec.output_silence;
        let end = Instant::now() + REST.max(silence);
        let mut quiet = Instant::now() + silence;
        while !exec.is_stopped() {
            let chunk = self.output.read_now(&mut self.collector.room())?;
            let now = Instant::now();
            if let Some(chunk) = chunk {
                self.push(exec, chunk);
                quiet = now + silence;
            }
            let left = end.min(quiet).saturating_duration_since(now);
            if self.output.is_over() || left.is_zero() {
                break;
            }
            if chunk.is_none() {
                self.output.wait_for(left)?;
            }
        }
        Ok(())
    }

    fn take_backlog(&mut self, exec: &Exec) -> io::Result<()> {
        let mut backlog = self.output.backlog()?;
        while let Some(chunk) =
            self.output.read_backlog(&mut backlog, &mut self.collector.room())?
        {
            self.push(exec, chunk);
        }
        Ok(())
    }

    /// Keeps what was read, up to the limit: whoever writes more is ended.
    fn push(&mut self, exec: &Exec, PipeChunk { kind, len }: PipeChunk) {
        let room = self.limit.map_or(u64::MAX, |limit| limit - self.taken);
        let kept = usize::try_from(room).map_or(len, |room| len.min(room));
        self.taken += kept as u64;
        if kept > 0 {
            self.collector.push(kind, kept);
        }
        if let Some(limit) = self.limit.filter(|_| kept < len) {
            exec.end_by(ReachedLimit::Output(limit));
        }
    }
}

/// Returns whether it went well.
fn note(exec: &Exec, result: io::Result<()>) -> bool {
    result
        .inspect_err(
            |error| tracing::error!(%error, id = exec.id, "the exec's output can't be read"),
        )
        .is_ok()
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, sync::Arc, thread};

    use nix::unistd::write;
    use sandpipe_protocol::{CreateExecRequest, ExecStatus, NO_EXIT_CODE};
    use tempfile::TempDir;
    use tokio::time::timeout;

    use super::*;
    use crate::{
        execs::{
            record::{ExecRecord, Recording},
            registry::Registry,
        },
        output::{Reader, ReaderItem, StartAfter},
        process::{Launch, Process, Spawned, spawn},
        sandbox::Group,
        state_dir::Keep,
    };

    /// An exec of a script, and its process, which nobody observes yet.
    pub(in crate::execs) fn running(
        directory: &TempDir,
        script: &str,
        pty: bool,
    ) -> (Registry, Arc<Exec>, Process) {
        let registry = Registry::for_test(directory.path(), Keep::State);
        let request = CreateExecRequest {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            pty: Some(pty),
            ..CreateExecRequest::default()
        };
        let launch = Launch::prepare(request, registry.spawn_defaults()).unwrap();
        let descriptors = launch.acquire_descriptors().unwrap();
        let Ok(Spawned::Running(process)) = spawn(&launch, None, descriptors) else {
            panic!("it does not run")
        };
        let recording = Some(Recording { creation: None });
        let exec = registry
            .insert(|number| Exec::new("id".into(), number, launch, recording, registry.context()));
        let exec = exec.unwrap();
        exec.write_record();
        exec.state().status = ExecStatus::Running;
        exec.state().group = Some(Arc::clone(&process.group));
        (registry, exec, *process)
    }

    /// It is over for whoever looks at it or waits for that, and without an exit code.
    async fn is_lost(
        registry: &Registry,
        exec: &Arc<Exec>,
        mut reader: Reader,
        directory: &TempDir,
    ) {
        let next = timeout(Duration::from_mins(1), reader.next()).await;
        assert!(next.expect("its readers wait for ever").unwrap().is_none());
        let item = exec.item();
        assert_eq!((&item.status, item.exit_code), (&ExecStatus::Stopped, NO_EXIT_CODE));
        // So an agent that starts later finds it.
        let record = fs::read(directory.path().join("id/exec.json")).unwrap();
        let record: ExecRecord = serde_json::from_slice(&record).unwrap();
        assert_eq!((record.item, record.last_event), (item, None));
        exec.state().group = None;
        registry.delete(exec).await.unwrap();
    }

    async fn ended(group: &Group) {
        assert!(group.gone_within(Duration::from_mins(1)).await);
    }

    #[tokio::test]
    async fn an_exec_whose_process_goes_out_of_sight_is_stopped_without_an_exit_code() {
        let directory = tempfile::tempdir().unwrap();
        let (registry, exec, process) = running(&directory, "echo output", false);
        let reader = Reader::follow(exec.spool(), StartAfter(0));
        ended(&process.group).await;
        let (stdin_ended, _) = oneshot::channel();
        let (gone, exit) = oneshot::channel();
        drop(gone);
        let collector = Collector::new(Arc::clone(exec.spool()));
        observe(
            &exec,
            collector,
            process.output,
            exit,
            stdin_ended,
            process.descriptors,
            ExecLimits::default(),
        );
        is_lost(&registry, &exec, reader, &directory).await;
    }

    #[tokio::test]
    async fn what_was_stored_before_the_agent_failed_is_served() {
        /// Fails with the second item.
        struct Failing {
            collector: Collector,
            pieces: u32,
        }

        impl Collect for Failing {
            fn room(&mut self) -> Vec<IoSliceMut<'_>> {
                self.collector.room()
            }

            fn push(&mut self, kind: OutputType, len: usize) {
                self.pieces += 1;
                assert_eq!(self.pieces, 1, "as it is to");
                self.collector.push(kind, len);
            }

            fn finish(&mut self) {}
        }

        let is_first = |item: Option<ReaderItem>| match item {
            Some(ReaderItem::Bytes(bytes)) => String::from_utf8_lossy(&bytes).contains("first"),
            _ => false,
        };
        let directory = tempfile::tempdir().unwrap();
        let (registry, exec, mut process) =
            running(&directory, "echo first; read x; echo second; exec sleep 300", false);
        let follow = || Reader::follow(exec.spool(), StartAfter(0));
        let (mut following, behind) = (follow(), follow());
        let group = Arc::clone(&process.group);
        let (stdin_ended, _stdin_ended) = oneshot::channel();
        let (_exited, exit) = oneshot::channel();
        let observed = Arc::clone(&exec);
        let collector = Failing { collector: Collector::new(Arc::clone(exec.spool())), pieces: 0 };
        let input = process.input.take().unwrap();
        let (output, descriptors) = (process.output, process.descriptors);
        let thread = thread::spawn(move || {
            observe(
                &observed,
                collector,
                output,
                exit,
                stdin_ended,
                descriptors,
                ExecLimits::default(),
            );
        });
        assert!(is_first(following.next().await.unwrap()));
        write(&input, b"\n").unwrap();
        ended(&group).await;
        thread.join().unwrap();
        assert!(following.next().await.unwrap().is_none());
        for mut reader in [behind, follow(), Reader::snapshot(exec.spool(), StartAfter(0))] {
            assert!(is_first(reader.next().await.unwrap()));
            assert!(reader.next().await.unwrap().is_none());
        }
        let reader = Reader::follow(exec.spool(), StartAfter(1));
        is_lost(&registry, &exec, reader, &directory).await;
    }

    #[tokio::test]
    async fn where_the_agent_fails_to_take_output_its_exec_is_stopped_and_its_readers_are_told() {
        /// Fails as what is wrong in the agent would.
        struct Failing(&'static str, [u8; 16]);

        impl Collect for Failing {
            fn room(&mut self) -> Vec<IoSliceMut<'_>> {
                vec![IoSliceMut::new(&mut self.1)]
            }

            fn push(&mut self, _: OutputType, _: usize) {
                assert_ne!(self.0, "push", "as it is to");
            }

            fn finish(&mut self) {
                assert_ne!(self.0, "finish", "as it is to");
            }
        }

        for failing in ["push", "finish"] {
            let directory = tempfile::tempdir().unwrap();
            let (registry, exec, process) =
                running(&directory, "echo output; exec sleep 300", false);
            let reader = Reader::follow(exec.spool(), StartAfter(0));
            let group = Arc::clone(&process.group);
            let (ends_stdin, mut stdin_ended) = oneshot::channel();
            let (exited, exit) = oneshot::channel();
            if failing == "finish" {
                exited.send(0).unwrap();
            }
            let observed = Arc::clone(&exec);
            let thread = thread::spawn(move || {
                observe(
                    &observed,
                    Failing(failing, [0; 16]),
                    process.output,
                    exit,
                    ends_stdin,
                    process.descriptors,
                    ExecLimits::default(),
                );
            });
            // The group was killed: nothing else ends it.
            ended(&group).await;
            thread.join().unwrap();
            assert!(
                stdin_ended
                    .try_recv()
                    .is_err_and(|error| { error == oneshot::error::TryRecvError::Closed })
            );
            is_lost(&registry, &exec, reader, &directory).await;
        }
    }
}
