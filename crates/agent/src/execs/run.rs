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

/// Sees a process through: brings its output to the spool, and its exit code after it.
///
/// `ended` is dropped with the process, which closes its standard input.
pub(super) async fn run(
    exec: Arc<Exec>,
    mut output: Arrivals,
    exit: oneshot::Receiver<i32>,
    ended: oneshot::Sender<()>,
) {
    let mut deleted = exec.deleted.subscribe();
    let intake = Intake::new(&exec.spool);
    let mut intake = match intake.collect(&exec, &mut output, exit, ended).await {
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
        result = output.discard(&mut intake.buffer) => note(&exec, &result),
        // Closing the pipes ends what still writes to them; its group has been killed before.
        _ = deleted.wait_for(|deleted| *deleted) => {}
    }
}

/// The way from the pipes to the spool.
struct Intake {
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
    fn new(spool: &Arc<Spool>) -> Self {
        Self { collector: Collector::new(Arc::clone(spool)), buffer: vec![0; CHUNK] }
    }

    async fn collect(
        mut self,
        exec: &Arc<Exec>,
        output: &mut Arrivals,
        mut exit: oneshot::Receiver<i32>,
        ended: oneshot::Sender<()>,
    ) -> Result<Self, Lost> {
        let exit_code = loop {
            tokio::select! {
                biased;
                code = &mut exit => break code?,
                piece = output.read(&mut self.buffer) => match piece {
                    Ok(Some(piece)) => self = self.take(piece).await?,
                    // It closed its output and lives on.
                    Ok(None) => break exit.await?,
                    Err(error) => {
                        note(exec, &Err(error));
                        break exit.await?;
                    }
                },
            }
        };
        drop(ended);
        match output.backlog() {
            Ok(mut backlog) => loop {
                match output.read_backlog(&mut backlog, &mut self.buffer) {
                    Ok(Some(piece)) => self = self.take(piece).await?,
                    Ok(None) => break,
                    Err(error) => {
                        note(exec, &Err(error));
                        break;
                    }
                }
            },
            Err(error) => note(exec, &Err(error)),
        }
        let exec = Arc::clone(exec);
        spawn_blocking(move || {
            self.collector.finish();
            exec.end(exit_code);
            self
        })
        .await
        .map_err(Lost::from)
    }

    /// Writes what was read to the spool, where it may block.
    async fn take(mut self, piece: Piece) -> Result<Self, JoinError> {
        spawn_blocking(move || {
            let bytes = self.buffer.get(..piece.len).unwrap_or_default();
            self.collector.push(piece.kind, bytes);
            self
        })
        .await
    }
}

fn note(exec: &Exec, result: &io::Result<()>) {
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
