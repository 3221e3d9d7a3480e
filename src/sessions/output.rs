use std::cell::RefCell;

use futures_channel::oneshot;
use js_sys::Function;
use sandpipe_protocol::ExecStdout;

use super::ending::End;
use super::markers::Markers;
use super::over;
use crate::errors::js_text;
use crate::execs::event_list::EventList;
use crate::execs::follow::{Break, written};
use crate::execs::output_reader::OutputReader;
use crate::execs::sink::Sink;
use crate::execs::transcript::Transcript;
use crate::request::ExecId;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

/// The output of one run.
pub(super) struct Output {
    pub(super) id: ExecId,
    pub(super) markers: RefCell<Markers>,
    pub(super) transcript: RefCell<Transcript>,
    pub(super) listener: Option<Function>,
}

impl Output {
    /// Reads up to the end of the run. `announce` is told that the script has begun, `fail` why its
    /// output is of no use any more; it is followed to its end all the same.
    pub(super) async fn follow(
        &self,
        reader: &mut OutputReader,
        unread: &mut Vec<ExecStdout>,
        mut announce: Option<oneshot::Sender<()>>,
        mut fail: Option<oneshot::Sender<Box<Error>>>,
    ) -> End {
        loop {
            let events = match std::mem::take(unread) {
                read if !read.is_empty() => read,
                _ => match reader.read().await {
                    Ok(Some(events)) => events,
                    Ok(None) => return End::Shell(reader.exit_code().unwrap_or_default()),
                    Err(error) => return End::Lost(error),
                },
            };
            let mut events = events.into_iter();
            let told = self.take(&mut events);
            *unread = events.collect();
            if self.markers.borrow().begun()
                && let Some(announce) = announce.take()
            {
                // Nobody may be waiting any more.
                announce.send(()).unwrap_or_default();
            }
            if let Some(fail_now) = fail.take() {
                match self.tell(&told) {
                    Ok(()) => fail = Some(fail_now),
                    Err(error) => drop(fail_now.send(error)),
                }
            }
            if self.markers.borrow().passed_over() {
                let output =
                    js_text(&self.transcript.borrow_mut().text()).as_string().unwrap_or_default();
                let reason = format!("its shell could not read a script: {}", output.trim());
                return End::Lost(over(&self.id, &reason));
            }
            if self.markers.borrow().over() {
                reader.suspend();
                return End::Ready;
            }
        }
    }

    /// What of the events is the script's output, up to its end.
    fn take(&self, events: &mut impl Iterator<Item = ExecStdout>) -> Vec<ExecStdout> {
        let mut markers = self.markers.borrow_mut();
        let mut told = Vec::new();
        for mut event in events {
            event.output = markers.feed(event.kind, &event.output);
            if event.exit_code.is_some() {
                event.output.push_str(&markers.rest(event.kind));
            }
            if !event.output.is_empty() || event.exit_code.is_some() {
                told.push(event);
            }
            if markers.over() {
                break;
            }
        }
        told
    }

    fn tell(&self, events: &[ExecStdout]) -> Result<()> {
        let mut list = EventList::default();
        {
            let mut transcript = self.transcript.borrow_mut();
            for event in events {
                let broken = |broken: Break| broken.explain(Operation::StreamOutput, &self.id);
                written(event, &mut *transcript).map_err(broken)?;
                if self.listener.is_some() {
                    written(event, &mut list).map_err(broken)?;
                }
            }
            transcript.end_batch()?;
        }
        match &self.listener {
            Some(listener) => list.tell(listener),
            None => Ok(()),
        }
    }

    pub(super) fn exit_code(&self) -> Option<i32> {
        self.markers.borrow().exit_code()
    }
}
