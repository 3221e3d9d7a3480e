use std::{io, sync::Arc};

use tokio::{
    sync::oneshot,
    task::{JoinError, spawn_blocking},
};

use super::exec::Exec;
use crate::{
    output::{Collector, Spool},
    process::{Arrivals, Piece},
};

/// The most bytes that are read of a pipe at once: what a pipe holds by default.
const CHUNK: usize = 64 * 1024;

/// The most pieces that are written without going back to wait for the next one.
const PIECES: usize = 64;

/// Sees a process through: brings its output to the spool, and its exit code after it.
///
/// `ended` is dropped with the process, which closes its standard input.
pub(super) async fn run(
    exec: Arc<Exec>,
    output: Arrivals,
    exit: oneshot::Receiver<i32>,
    ended: oneshot::Sender<()>,
) {
    let mut deleted = exec.deleted.subscribe();
    let intake = Intake::new(&exec.spool, output, exit);
    let mut intake = match intake.collect(&exec, ended).await {
        Ok(intake) => intake,
        Err(error) => {
            tracing::error!(%error, id = exec.id, "the exec's output and exit code are lost");
            let lost = spawn_blocking(move || exec.set_lost());
            if let Err(error) = lost.await {
                tracing::error!(%error, "an exec that is lost can't be ended");
            }
            return;
        }
    };
    tokio::select! {
        result = intake.output.discard(&mut intake.buffer) => note(&exec, result),
        // Closing the pipes ends what still writes to them; its group has been killed before.
        _ = deleted.wait_for(|deleted| *deleted) => {}
    }
}

/// The way from the pipes to the spool.
struct Intake {
    output: Arrivals,
    exit: oneshot::Receiver<i32>,
    collector: Collector,
    buffer: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
enum Lost {
    #[error("the agent failed while it wrote: {0}")]
    Join(#[from] JoinError),
    #[error("the process was not reaped")]
    Exit(#[from] oneshot::error::RecvError),
}

impl Intake {
    fn new(spool: &Arc<Spool>, output: Arrivals, exit: oneshot::Receiver<i32>) -> Self {
        let collector = Collector::new(Arc::clone(spool));
        Self { output, exit, collector, buffer: vec![0; CHUNK] }
    }

    async fn collect(mut self, exec: &Arc<Exec>, ended: oneshot::Sender<()>) -> Result<Self, Lost> {
        let exit_code = loop {
            let read = tokio::select! {
                biased;
                code = &mut self.exit => break code?,
                read = self.output.read(&mut self.buffer) => read,
            };
            let taken;
            (self, taken) = match read {
                Ok(Some(piece)) => self.take(piece).await?,
                // It closed its output and lives on.
                Ok(None) => break (&mut self.exit).await?,
                Err(error) => (self, Err(error)),
            };
            if taken.is_err() {
                note(exec, taken);
                break (&mut self.exit).await?;
            }
        };
        drop(ended);
        let exec = Arc::clone(exec);
        spawn_blocking(move || {
            note(&exec, self.take_backlog());
            self.collector.finish();
            exec.end(exit_code);
            self
        })
        .await
        .map_err(Lost::from)
    }

    /// Writes what was read to the spool, where it may block, and what comes meanwhile: to wake another
    /// thread for each piece would take longer than the piece.
    async fn take(mut self, piece: Piece) -> Result<(Self, io::Result<()>), JoinError> {
        spawn_blocking(move || {
            let taken = self.take_pieces(piece);
            (self, taken)
        })
        .await
    }

    fn take_pieces(&mut self, first: Piece) -> io::Result<()> {
        self.push(first);
        for _ in 1..PIECES {
            // When the process has ended, what counts is what it has written by then.
            if !self.exit.is_empty() {
                break;
            }
            let Some(piece) = self.output.read_now(&mut self.buffer)? else {
                break;
            };
            self.push(piece);
        }
        Ok(())
    }

    fn take_backlog(&mut self) -> io::Result<()> {
        let mut backlog = self.output.backlog()?;
        while let Some(piece) = self.output.read_backlog(&mut backlog, &mut self.buffer)? {
            self.push(piece);
        }
        Ok(())
    }

    fn push(&mut self, piece: Piece) {
        let bytes = self.buffer.get(..piece.len).unwrap_or_default();
        self.collector.push(piece.kind, bytes);
    }
}

fn note(exec: &Exec, result: io::Result<()>) {
    if let Err(error) = result {
        tracing::error!(%error, id = exec.id, "the exec's output can't be read");
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, time::Duration};

    use nix::sys::wait::waitpid;
    use sandpipe_protocol::{CreateExecRequest, ExecStatus, NO_EXIT_CODE, TerminalSize};
    use tokio::time::timeout;

    use super::*;
    use crate::{
        execs::{exec::Records, record::Record, registry::Registry},
        output::{Reader, SpoolLimit, StartAfter},
        process::{FileLimit, Launch, Spawned, Surroundings, spawn},
        state_dir::Keep,
    };

    #[tokio::test]
    async fn an_exec_whose_process_goes_out_of_sight_is_stopped_without_an_exit_code() {
        let surroundings = Surroundings {
            workspace: "/".into(),
            default_user: None,
            env: [].into(),
            file_limit: FileLimit::raise().unwrap(),
        };
        let directory = tempfile::tempdir().unwrap();
        let limit = SpoolLimit::new(1 << 20).unwrap();
        let registry = Registry::new(surroundings, directory.path().into(), limit, Keep::State);
        let request = CreateExecRequest {
            command: "/bin/sh".into(),
            args: vec!["-c".into(), "echo output".into()],
            ..CreateExecRequest::default()
        };
        let launch = Launch::prepare(request, registry.surroundings()).unwrap();
        let size = TerminalSize { cols: 80, rows: 24 };
        let Ok(Spawned::Running(process)) = spawn(&launch, size) else { panic!("it does not run") };
        let records = Some(Records { creation: None });
        let exec =
            registry.insert(|number| Exec::new("id".into(), number, launch, records, &registry));
        let exec = exec.unwrap();
        exec.state().status = ExecStatus::Running;
        let mut reader = Reader::follow(&exec.spool, StartAfter(0));
        // Nobody here says how it ended: this is not the reaper's process.
        waitpid(process.group.id(), None).unwrap();
        let (ended, _) = oneshot::channel();
        let (gone, exit) = oneshot::channel();
        drop(gone);
        run(Arc::clone(&exec), process.output, exit, ended).await;
        let next = timeout(Duration::from_mins(1), reader.next()).await;
        assert!(next.expect("its readers wait for ever").unwrap().is_none());
        let item = exec.item();
        assert_eq!((&item.status, item.exit_code), (&ExecStatus::Stopped, NO_EXIT_CODE));
        // So an agent that starts later finds it.
        let record = fs::read(directory.path().join("id/exec.json")).unwrap();
        let record: Record = serde_json::from_slice(&record).unwrap();
        assert_eq!((record.item, record.last_event), (item, None));
        // It is over for whoever waits for that, and can be deleted.
        registry.delete(&exec).await.unwrap();
    }
}
