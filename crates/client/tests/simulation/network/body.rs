//! The body of an answer on its way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, StreamExt, future};
use sandpipe_client::AbortSignal;
use sandpipe_client::host::{Body, NoResponse};
use sandpipe_protocol::frame::{self, Payload};

use super::{Bytes, Open, broken};
use crate::executor::{Executor, Sleep};
use crate::faults::Fault;

/// A body that comes in chunks of some size, up to where its fault is. The agent is asked for bytes when they are
/// read: none wait on the way.
pub(super) struct SimBody {
    executor: Executor,
    source: Bytes,
    /// What the agent gave last, and how much of it has been read.
    arrived: Vec<u8>,
    arrived_read: usize,
    max_chunk: usize,
    fault: Option<BodyFault>,
    /// How many bytes have been read.
    read: usize,
    cancel: AbortSignal,
    /// Resolves when the answer is aborted.
    aborted: LocalBoxFuture<'static, ()>,
    _open: Open,
}

/// What happens after so many bytes.
struct BodyFault {
    after: usize,
    effect: Effect,
}

enum Effect {
    End { is_clean: bool },
    Wait(f64),
    Waiting(Sleep),
}

impl BodyFault {
    fn of(fault: Fault) -> Option<Self> {
        match fault {
            Fault::Cut { after, is_clean } => {
                Some(Self { after, effect: Effect::End { is_clean } })
            }
            Fault::Stall { after, ms } => Some(Self { after, effect: Effect::Wait(ms) }),
            _ => None,
        }
    }
}

/// An output up to so many events, and to the next sign of life behind them.
pub(super) fn first_events(source: Bytes, content_type: &'static str, count: usize) -> Bytes {
    let first = source.scan(count, move |left, mut bytes| {
        let in_frames = content_type == frame::MEDIA_TYPE;
        let ends = if in_frames { frame_ends(&bytes) } else { event_ends(&bytes) };
        let is_wanted = *left > 0;
        if let Some(end) = left.checked_sub(1).and_then(|last| ends.get(last)) {
            bytes.truncate(*end);
        }
        *left = left.saturating_sub(ends.len());
        future::ready(is_wanted.then_some(bytes))
    });
    first.boxed_local()
}

/// Where events of an output end in bytes that hold whole ones.
fn event_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    for (place, end) in bytes.windows(2).enumerate().filter(|(_, pair)| *pair == b"\n\n") {
        if bytes[start..].starts_with(b"data:") {
            ends.push(place + end.len());
        }
        start = place + end.len();
    }
    ends
}

/// The same of frames.
fn frame_ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut rest = bytes;
    while let Ok(Some((frame, behind))) = frame::split_frame(rest) {
        rest = behind;
        if matches!(frame.payload, Payload::Output(..) | Payload::Exit(_)) {
            ends.push(bytes.len() - rest.len());
        }
    }
    ends
}

impl SimBody {
    pub(super) fn new(
        executor: Executor,
        source: Bytes,
        cancel: &AbortSignal,
        fault: Option<Fault>,
        max_chunk: usize,
        open: Open,
    ) -> Self {
        let signal = cancel.clone();
        let aborted = async move { drop(signal.aborted().await) }.boxed_local();
        Self {
            executor,
            source,
            arrived: Vec::new(),
            arrived_read: 0,
            max_chunk,
            fault: fault.and_then(BodyFault::of),
            read: 0,
            cancel: cancel.clone(),
            aborted,
            _open: open,
        }
    }
}

impl Body for SimBody {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut Vec<u8>,
    ) -> Poll<Result<(), NoResponse>> {
        chunk.clear();
        if self.cancel.is_aborted() || self.aborted.poll_unpin(context).is_ready() {
            return Poll::Ready(Err(broken("the request was aborted")));
        }
        let mut length = self.max_chunk;
        while let Some(BodyFault { after, effect }) = &mut self.fault {
            let before = after.saturating_sub(self.read);
            if before > 0 {
                length = length.min(before);
                break;
            }
            match effect {
                Effect::End { is_clean: true } => return Poll::Ready(Ok(())),
                Effect::End { is_clean: false } => {
                    return Poll::Ready(Err(broken("connection reset")));
                }
                Effect::Wait(ms) => *effect = Effect::Waiting(self.executor.sleep(*ms)),
                Effect::Waiting(sleep) => {
                    ready!(Pin::new(sleep).poll(context));
                    self.fault = None;
                }
            }
        }
        while self.arrived_read == self.arrived.len() {
            let Some(bytes) = ready!(self.source.as_mut().poll_next(context)) else {
                return Poll::Ready(Ok(()));
            };
            (self.arrived, self.arrived_read) = (bytes, 0);
        }
        let unread = &self.arrived[self.arrived_read..];
        chunk.extend_from_slice(&unread[..length.min(unread.len())]);
        self.arrived_read += chunk.len();
        self.read += chunk.len();
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for SimBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimBody").field("read", &self.read).finish_non_exhaustive()
    }
}
