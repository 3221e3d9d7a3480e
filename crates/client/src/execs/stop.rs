//! Stopping a command: what the ladder decides is carried out here.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::{Pin, pin};

use futures_util::future::{Either, LocalBoxFuture, select};

use super::{Ladder, ProcessGroup, Rung, SignalResult, StopRequests, Trigger};
use crate::error::NotStopped;
use crate::{Agent, Error, Operation, Result};

/// How long a killed group may take to be gone, in milliseconds. Only the system itself can hold a
/// process up then.
pub(crate) const KILL_TIMEOUT_MS: f64 = 10_000.0;

/// How long one look at whether a group is gone may take: so many times the longest pause between two.
const LOOK_TIMEOUT_PAUSES: f64 = 8.0;

/// What became of a stop.
pub(crate) struct StopOutcome {
    /// It took SIGKILL.
    pub(crate) forced: bool,
    /// Why processes may be left, if so.
    pub(crate) unstopped: Option<NotStopped>,
    /// There was nothing to stop: it has not been started.
    pub(crate) never_ran: bool,
}

/// Stops a process group and waits until no process of it is left, and until its output has `ended`:
/// that is read on all the while, so that the last words of a process that tidies up are not lost.
///
/// A further one of the `requests` forces.
pub(crate) fn stop<'a>(
    agent: &'a Agent,
    target: &'a ProcessGroup,
    first: Trigger,
    grace_ms: f64,
    requests: &'a mut StopRequests,
    ended: Pin<&'a mut dyn Future<Output = ()>>,
) -> LocalBoxFuture<'a, StopOutcome> {
    Box::pin(stop_and_wait(agent, target, first, grace_ms, requests, ended))
}

async fn stop_and_wait(
    agent: &Agent,
    target: &ProcessGroup,
    first: Trigger,
    grace_ms: f64,
    requests: &mut StopRequests,
    mut ended: Pin<&mut dyn Future<Output = ()>>,
) -> StopOutcome {
    let outcome = {
        let escalating = pin!(escalate(agent, target, first, grace_ms, requests));
        match select(escalating, ended.as_mut()).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), escalating)) => return escalating.await,
        }
    };
    if outcome.unstopped.is_some() {
        return outcome;
    }
    // A group that is gone writes no more; what it wrote is still to be read.
    let never_ran = pin!(async {
        if !matches!(target.never_ran(agent).await, Ok(true)) {
            pending::<()>().await;
        }
    });
    match select(ended, never_ran).await {
        Either::Left(_) => outcome,
        Either::Right(_) => StopOutcome { never_ran: true, ..outcome },
    }
}

async fn escalate(
    agent: &Agent,
    target: &ProcessGroup,
    first: Trigger,
    grace_ms: f64,
    requests: &mut StopRequests,
) -> StopOutcome {
    let mut ladder = Ladder::default();
    let mut next = ladder.advance(first);
    let mut outcome = StopOutcome { forced: false, unstopped: None, never_ran: false };
    let is_there = Cell::new(false);
    let mut gone = pin!(wait_until_gone(agent, target, &is_there));
    while let Some(rung) = next {
        let failed = Cell::new(None);
        let delivering = pin!(deliver(agent, target, rung, &failed));
        let mut pushing = pin!(next_trigger(agent, rung, grace_ms, requests));
        let delivered = {
            // Its answer may be lost, and the group be gone.
            let gone_without_answer = pin!(async {
                agent.http.pause(target.poll_pauses().1).await?;
                gone.as_mut().await
            });
            match select(delivering, select(gone_without_answer, pushing.as_mut())).await {
                Either::Left((delivered, _)) => delivered,
                Either::Right((Either::Left((Ok(()), _)), _)) => {
                    return StopOutcome { forced: rung == Rung::Kill, unstopped: None, ..outcome };
                }
                Either::Right((Either::Left((Err(error), _)), _)) => {
                    return StopOutcome {
                        unstopped: Some(NotStopped::Undelivered(error)),
                        ..outcome
                    };
                }
                Either::Right((Either::Right((trigger, _)), _)) => {
                    if rung == Rung::Kill {
                        let error = failed.take().unwrap_or_else(|| unconfirmed(agent));
                        outcome.unstopped = Some(NotStopped::Undelivered(error));
                    }
                    next = ladder.advance(trigger);
                    continue;
                }
            }
        };
        match delivered {
            Ok(Delivered::Gone { may_be_by_it }) => {
                let forced = outcome.forced || (may_be_by_it && rung == Rung::Kill);
                return StopOutcome { forced, unstopped: None, ..outcome };
            }
            Ok(Delivered::Signalled) => {
                outcome = StopOutcome { forced: rung == Rung::Kill, unstopped: None, ..outcome };
                // What was seen before does not count.
                gone.set(wait_until_gone(agent, target, &is_there));
            }
            Err(error) => {
                // Who may not send the one may not send the other.
                let refused = matches!(error.status(), Some(401 | 403));
                outcome.unstopped = Some(NotStopped::Undelivered(error));
                if refused || rung == Rung::Kill {
                    return outcome;
                }
            }
        }
        // Also where SIGTERM could not be delivered: it may have been, and its answer lost.
        match select(gone.as_mut(), pushing).await {
            Either::Left((Ok(()), _)) => return StopOutcome { unstopped: None, ..outcome },
            Either::Left((Err(error), _)) => {
                return StopOutcome { unstopped: Some(NotStopped::Undelivered(error)), ..outcome };
            }
            Either::Right((trigger, _)) => next = ladder.advance(trigger),
        }
    }
    let unstopped = outcome.unstopped.unwrap_or_else(|| {
        if is_there.get() {
            NotStopped::StillThere
        } else {
            NotStopped::Undelivered(unconfirmed(agent))
        }
    });
    StopOutcome { unstopped: Some(unstopped), ..outcome }
}

/// What became of the signal of a rung.
enum Delivered {
    Signalled,
    /// No process of the group is left. An attempt before may have been what ended it.
    Gone {
        may_be_by_it: bool,
    },
}

/// Delivers the signal of a rung. SIGKILL can be sent as often as it takes; SIGTERM is repeated only
/// where it can't have arrived, for a program may take a second one for something else. Keeps how the
/// newest attempt has `failed`.
async fn deliver(
    agent: &Agent,
    target: &ProcessGroup,
    rung: Rung,
    failed: &Cell<Option<Box<Error>>>,
) -> Result<Delivered> {
    let mut may_have_arrived = false;
    let attempt = async || {
        let sent = target.signal(agent, rung.signal()).await;
        if let Err(error) = &sent {
            may_have_arrived |= error.is_ambiguous();
            failed.set(Some(error.clone()));
        }
        sent
    };
    let may_repeat =
        |error: &Error| rung == Rung::Kill || error.is_never_sent() || error.status() == Some(429);
    match agent.http.repeat(Operation::SignalExec, may_repeat, attempt).await? {
        SignalResult::Gone(_) => Ok(Delivered::Gone { may_be_by_it: may_have_arrived }),
        SignalResult::Signalled => Ok(Delivered::Signalled),
    }
}

/// The error of a SIGKILL of which nothing is known.
fn unconfirmed(agent: &Agent) -> Box<Error> {
    let reason = "SIGKILL was not confirmed within 10 s";
    Box::new(Error::Network {
        operation: Operation::SignalExec,
        url: agent.http.url().to_owned(),
        reason: reason.to_owned(),
        cause: None,
        never_sent: false,
        not_run: false,
    })
}

/// Waits for what moves one up from a rung.
pub(crate) async fn next_trigger(
    agent: &Agent,
    rung: Rung,
    grace_ms: f64,
    requests: &mut StopRequests,
) -> Trigger {
    let host = agent.http.host();
    match rung {
        Rung::Terminate => match select(pin!(requests.next()), host.sleep(grace_ms)).await {
            Either::Left((request, _)) => request.trigger,
            Either::Right(_) => Trigger::GraceOver,
        },
        Rung::Kill => {
            host.sleep(KILL_TIMEOUT_MS).await;
            Trigger::GraceOver
        }
    }
}

/// Looks until no process of the group is left. No event tells of it. Says whether the newest look has seen that it
/// `is_there`.
async fn wait_until_gone(
    agent: &Agent,
    target: &ProcessGroup,
    is_there: &Cell<bool>,
) -> Result<()> {
    is_there.set(false);
    let (mut pause, longest) = target.poll_pauses();
    loop {
        // A look whose connection is dead must not keep the next one from seeing that it is gone.
        let timeout = agent.http.host().sleep(longest * LOOK_TIMEOUT_PAUSES);
        let looking = pin!(target.signal(agent, "0"));
        let looked = select(looking, timeout).await;
        is_there.set(matches!(looked, Either::Left((Ok(SignalResult::Signalled), _))));
        match looked {
            Either::Left((Ok(SignalResult::Gone(_)), _)) => return Ok(()),
            Either::Left((Err(error), _)) if error.is_closed() => return Err(error),
            // How often is bounded by the ladder.
            Either::Left(_) | Either::Right(_) => {}
        }
        agent.http.pause(pause).await?;
        pause = (pause * 2.0).min(longest);
    }
}
