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
            exec.set_lost();
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
