//! What may ask for a command to be stopped.

use futures_util::future::{Either, LocalBoxFuture, select};
use std::future::pending;
use std::pin::pin;

use super::Trigger;
use crate::error::{StopReason, Stopped};
use crate::output::Encoding;
use crate::{AbortSignal, Error, Host, HostOutput, HostValue};

/// What may ask for a command to be stopped: each at most once.
#[derive(Default)]
pub(crate) struct StopRequests {
    signal: Option<AbortSignal>,
    force: Option<AbortSignal>,
    timeout_ms: f64,
    /// Over when the command has taken so long.
    deadline: Option<LocalBoxFuture<'static, ()>>,
}

/// A request to stop.
#[derive(Clone)]
pub(crate) struct StopRequest {
    pub(crate) why: StopReason,
    pub(crate) trigger: Trigger,
}

impl StopRequests {
    /// What asks for a stop when a signal is aborted, or `timeout_ms` from now on are over.
    pub(crate) fn new(
        signal: Option<AbortSignal>,
        force: Option<AbortSignal>,
        timeout_ms: Option<f64>,
        host: &dyn Host,
    ) -> Self {
        let deadline = timeout_ms.map(|timeout_ms| host.sleep(timeout_ms));
        Self { signal, force, timeout_ms: timeout_ms.unwrap_or_default(), deadline }
    }

    /// The request that had been made before anything began.
    pub(crate) fn already_requested(&self) -> Option<StopRequest> {
        let requested = |signal: &Option<AbortSignal>, trigger| {
            let aborted = signal.as_ref().filter(|signal| signal.is_aborted())?;
            Some(StopRequest::aborted(aborted.reason(), trigger))
        };
        requested(&self.force, Trigger::Force).or_else(|| requested(&self.signal, Trigger::Stop))
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> StopRequest {
        let Self { signal, force, timeout_ms, deadline } = self;
        let (signal, force) = (pin!(next_abort(signal)), pin!(next_abort(force)));
        let deadline = pin!(next_deadline(deadline));
        match select(select(force, signal), deadline).await {
            Either::Left((Either::Left((reason, _)), _)) => {
                StopRequest::aborted(reason, Trigger::Force)
            }
            Either::Left((Either::Right((reason, _)), _)) => {
                StopRequest::aborted(reason, Trigger::Stop)
            }
            Either::Right(_) => {
                let why = StopReason::TimedOut { milliseconds: *timeout_ms };
                StopRequest { why, trigger: Trigger::Stop }
            }
        }
    }
}

impl StopRequest {
    fn aborted(reason: Option<HostValue>, trigger: Trigger) -> Self {
        Self { why: StopReason::Interrupted { reason }, trigger }
    }

    /// The error of what was to be stopped before it had begun.
    pub(crate) fn not_started(self, encoding: Encoding) -> Box<Error> {
        Box::new(Error::Stopped(Stopped {
            exec_id: None,
            why: self.why,
            output: HostOutput::empty(encoding),
            forced: false,
            unstopped: None,
            incomplete: None,
        }))
    }

    /// Its input could not be delivered.
    pub(crate) fn input_lost(error: Box<Error>) -> Self {
        Self { why: StopReason::InputLost { error }, trigger: Trigger::Stop }
    }
}

async fn next_abort(place: &mut Option<AbortSignal>) -> Option<HostValue> {
    let Some(signal) = place else {
        return pending().await;
    };
    let reason = signal.aborted().await;
    *place = None;
    reason
}

async fn next_deadline(place: &mut Option<LocalBoxFuture<'static, ()>>) {
    let Some(deadline) = place else {
        return pending().await;
    };
    deadline.await;
    *place = None;
}
