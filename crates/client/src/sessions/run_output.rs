//! The output of a run, up to its end.

use std::cell::RefCell;
use std::pin::pin;

use futures_channel::oneshot;
use futures_util::future::{Either, select};
use sandpipe_protocol::ExecStdout;

use super::markers::Markers;
use super::run_end::RunEnd;
use super::session::session_ended;
use crate::execs::OutputReader;
use crate::output::{OutputSink, Transcript, event_of};
use crate::{AbortSignal, Error, ExecId, Nonce, Result};

/// How much of the output is kept for messages, at least, in bytes.
const MAX_BEGINNING_BYTES: usize = 4096;

/// The output of one run.
pub(super) struct RunOutput {
    pub(super) id: ExecId,
    pub(super) markers: RefCell<Markers>,
    pub(super) transcript: RefCell<Transcript>,
    /// Not there while it is being called.
    pub(super) listener: RefCell<Option<Box<dyn OutputSink>>>,
    /// The first of it, for messages.
    pub(super) beginning: RefCell<String>,
    /// Aborted: the script is to stop.
    pub(super) stopping: AbortSignal,
}

impl RunOutput {
    pub(super) fn new(
        id: ExecId,
        nonce: &Nonce,
        transcript: Transcript,
        listener: Option<Box<dyn OutputSink>>,
    ) -> Self {
        Self {
            id,
            markers: RefCell::new(Markers::new(nonce)),
            transcript: RefCell::new(transcript),
            listener: RefCell::new(listener),
            beginning: RefCell::default(),
            stopping: AbortSignal::default(),
        }
    }

    /// Reads up to the end of the run. `started` is sent when the script has begun, `fail` when its output is of no
    /// use any more; it is followed to its end all the same.
    pub(super) async fn follow(
        &self,
        reader: &mut OutputReader,
        unread: &mut Vec<ExecStdout>,
        mut started: Option<oneshot::Sender<()>>,
        mut fail: Option<oneshot::Sender<Box<Error>>>,
    ) -> RunEnd {
        let mut is_of_use = true;
        loop {
            let events = match std::mem::take(unread) {
                read if !read.is_empty() => read,
                _ => match reader.read().await {
                    Ok(Some(events)) => events,
                    Ok(None) => return RunEnd::Shell(reader.exit_code().unwrap_or_default()),
                    Err(error) => match *error {
                        Error::OutputLost { to, .. } if !is_of_use => {
                            reader.skip_lost(to);
                            continue;
                        }
                        _ => return RunEnd::Lost(error),
                    },
                },
            };
            let mut events = events.into_iter();
            let output = self.take(&mut events);
            *unread = events.collect();
            if self.markers.borrow().begun()
                && let Some(started) = started.take()
            {
                // Nobody may be waiting any more.
                started.send(()).unwrap_or_default();
            }
            if let Some(fail_now) = fail.take() {
                match self.notify(&output).await {
                    Ok(()) => fail = Some(fail_now),
                    Err(error) => {
                        is_of_use = false;
                        drop(fail_now.send(error));
                    }
                }
            }
            if self.markers.borrow().was_skipped() {
                let reason = format!(
                    "its shell could not read a script: {}",
                    self.beginning.borrow().trim()
                );
                return RunEnd::Lost(session_ended(&self.id, &reason));
            }
            if self.markers.borrow().over() {
                reader.suspend();
                return RunEnd::Ready;
            }
        }
    }

    /// What of the events is the script's output, up to its end.
    fn take(&self, events: &mut impl Iterator<Item = ExecStdout>) -> Vec<ExecStdout> {
        let mut markers = self.markers.borrow_mut();
        let mut output = Vec::new();
        for mut event in events {
            event.output = markers.feed(event.kind, &event.output);
            if event.exit_code.is_some() {
                event.output.push_str(&markers.finish_stream(event.kind));
            }
            self.keep_beginning(&event.output);
            if !event.output.is_empty() || event.exit_code.is_some() {
                output.push(event);
            }
            if markers.over() {
                break;
            }
        }
        output
    }

    fn keep_beginning(&self, text: &str) {
        let mut beginning = self.beginning.borrow_mut();
        if beginning.len() < MAX_BEGINNING_BYTES {
            beginning.push_str(text);
        }
    }

    async fn notify(&self, events: &[ExecStdout]) -> Result<()> {
        let mut listener = self.listener.take();
        {
            let mut transcript = self.transcript.borrow_mut();
            for event in events {
                let event = event_of(event);
                transcript.take(&event);
                if let Some(listener) = &mut listener {
                    listener.take(&event);
                }
            }
            transcript.flush()?;
        }
        let mut settled = None;
        if let Some(listener) = &mut listener {
            listener.flush()?;
            settled = listener.settled();
        }
        self.listener.replace(listener);
        let Some(settled) = settled else {
            return Ok(());
        };
        // The end of a script that is to stop must be seen, however long the caller takes.
        match select(pin!(self.stopping.aborted()), settled).await {
            Either::Left(_) => Ok(()),
            Either::Right((outcome, _)) => outcome,
        }
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        self.markers.borrow().exit_code()
    }
}
