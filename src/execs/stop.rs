//! Stopping a command: what the ladder decides is carried out here.

use std::future::Future;
use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use gloo_timers::future::TimeoutFuture;

use super::ladder::{Ladder, Push, Rung};
use super::signal::{Group, signal_group};
use super::stop_requests::StopRequests;
use crate::error::Error;
use crate::operation::Operation;
use crate::request::ExecId;
use crate::transport::{Transport, whole};

/// How long a killed group may take to be gone, in milliseconds. Only the system itself can hold a
/// process up then.
const KILL_PATIENCE: f64 = 10_000.0;

/// The pauses between two looks at whether a group is gone, in milliseconds: the first, the longest.
const LOOKS: (f64, f64) = (10.0, 250.0);

/// What became of a stop.
#[derive(Debug)]
pub(super) struct Outcome {
    /// It took SIGKILL.
    pub(super) forced: bool,
    /// Why processes may be left, if so.
    pub(super) unstopped: Option<Box<Error>>,
}

/// Stops an exec's process group and waits until no process of it is left.
///
/// `ended` is done when the exec's output has ended: it is read on all the while, so that the last
/// words of a process that tidies up are not lost. A further one of the `requests` forces.
pub(super) async fn stop(
    transport: &Transport,
    id: &ExecId,
    first: Push,
    grace_ms: f64,
    requests: &mut StopRequests,
    ended: Pin<&mut impl Future<Output = ()>>,
) -> Outcome {
    let mut ladder = Ladder::default();
    let mut next = ladder.push(first);
    let mut undelivered = None;
    let mut gone = pin!(async {
        ended.await;
        until_gone(transport, id).await;
    });
    while let Some(rung) = next {
        let stopped = async {
            let deliver = async || signal_group(transport, id, rung.signal()).await;
            transport.repeat(Operation::SignalExec, deliver).await?;
            gone.as_mut().await;
            Ok(())
        };
        let push = match select(pin!(stopped), pin!(next_push(rung, grace_ms, requests))).await {
            Either::Left((Ok(()), _)) => {
                return Outcome { forced: ladder.forced(), unstopped: None };
            }
            Either::Left((Err(error), _)) => {
                undelivered = Some(error);
                Push::Undelivered
            }
            Either::Right((push, _)) => push,
        };
        next = ladder.push(push);
    }
    let unstopped = undelivered.unwrap_or_else(|| still_there(id));
    Outcome { forced: ladder.forced(), unstopped: Some(Box::new(unstopped)) }
}

/// Waits for what moves one up from a rung.
pub(super) async fn next_push(rung: Rung, grace_ms: f64, requests: &mut StopRequests) -> Push {
    if rung == Rung::Kill {
        TimeoutFuture::new(whole(KILL_PATIENCE)).await;
        return Push::GraceOver;
    }
    match select(pin!(requests.next()), TimeoutFuture::new(whole(grace_ms))).await {
        Either::Left((request, _)) => request.push,
        Either::Right(_) => Push::GraceOver,
    }
}

/// Looks until no process of the group is left. No event tells of it.
async fn until_gone(transport: &Transport, id: &ExecId) {
    let (mut pause, longest) = LOOKS;
    loop {
        match signal_group(transport, id, "0").await {
            Ok(Group::Gone(_)) | Err(Error::Http { status: 404, .. } | Error::Closed) => return,
            // The ladder's own patience bounds how often.
            Ok(Group::Signalled) | Err(_) => {}
        }
        if transport.pause(pause).await.is_err() {
            return;
        }
        pause = (pause * 2.0).min(longest);
    }
}

fn still_there(id: &ExecId) -> Error {
    let message = format!("processes of exec {} are still there after SIGKILL", id.as_str());
    Error::Http {
        operation: Operation::SignalExec,
        status: 200,
        body: String::new(),
        message: Some(message),
        retry_after_ms: None,
    }
}
