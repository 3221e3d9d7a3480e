use std::fmt;
use std::future::pending;
use std::pin::pin;

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_client::host_value::HostValue;
use web_sys::AbortSignal;

use crate::abort::Abort;
use crate::arguments::{Fields, abort_signal, milliseconds};
use crate::sleep::sleep;
use sandpipe_client::error::{Error, Result, StopReason, Stopped};
use sandpipe_client::execs::ladder::Trigger;
use sandpipe_client::host_value::HostText;

/// What may ask for a command to be stopped: each at most once.
#[derive(Debug, Default)]
pub(crate) struct StopRequests {
    signal: Option<Abort>,
    force: Option<Abort>,
    deadline: Option<Deadline>,
}

struct Deadline {
    milliseconds: f64,
    over: LocalBoxFuture<'static, ()>,
}

/// A request to stop.
#[derive(Clone, Debug)]
pub(crate) struct StopRequest {
    pub(crate) why: StopReason,
    pub(crate) trigger: Trigger,
}

impl StopRequests {
    /// What asks for a stop when `signal` is aborted.
    pub(super) fn until(signal: Option<AbortSignal>) -> Self {
        Self { signal: signal.map(Abort::listen), ..Self::default() }
    }

    /// Reads `signal`, `forceSignal` and `timeoutMs`, which runs from now on.
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            signal: fields.optional("signal", abort_signal)?.map(Abort::listen),
            force: fields.optional("forceSignal", abort_signal)?.map(Abort::listen),
            deadline: fields.optional("timeoutMs", milliseconds)?.map(Deadline::new),
        })
    }

    /// The request that had been made before anything began.
    pub(crate) fn made_before(&self) -> Option<StopRequest> {
        let reason = |abort: &Option<Abort>| abort.as_ref().and_then(Abort::aborted_before);
        let interrupt = || reason(&self.signal).map(StopRequest::interrupt);
        reason(&self.force).map(StopRequest::force).or_else(interrupt)
    }

    /// Waits for the next request.
    pub(crate) async fn next(&mut self) -> StopRequest {
        let Self { signal, force, deadline } = self;
        let (signal, force) = (pin!(next_abort(signal)), pin!(next_abort(force)));
        let deadline = pin!(next_deadline(deadline));
        match select(select(force, signal), deadline).await {
            Either::Left((Either::Left((reason, _)), _)) => StopRequest::force(reason),
            Either::Left((Either::Right((reason, _)), _)) => StopRequest::interrupt(reason),
            Either::Right((milliseconds, _)) => {
                StopRequest { why: StopReason::TimedOut { milliseconds }, trigger: Trigger::Stop }
            }
        }
    }
}

impl StopRequest {
    fn interrupt(reason: Option<HostValue>) -> Self {
        Self { why: StopReason::Interrupted { reason }, trigger: Trigger::Stop }
    }

    fn force(reason: Option<HostValue>) -> Self {
        Self { why: StopReason::Interrupted { reason }, trigger: Trigger::Force }
    }

    /// The error of what was to be stopped before it had begun.
    pub(crate) fn never_ran(self) -> Box<Error> {
        Box::new(Error::Stopped(Stopped {
            exec_id: None,
            why: self.why,
            output: HostText::default(),
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

impl Deadline {
    fn new(milliseconds: f64) -> Self {
        // A timer starts when it is first polled: this one is to run from now on.
        let mut over = sleep(milliseconds).boxed_local();
        let over = match (&mut over).now_or_never() {
            Some(()) => futures_util::future::ready(()).boxed_local(),
            None => over,
        };
        Self { milliseconds, over }
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("milliseconds", &self.milliseconds).finish_non_exhaustive()
    }
}

async fn next_abort(place: &mut Option<Abort>) -> Option<HostValue> {
    let Some(abort) = place else {
        return pending().await;
    };
    let reason = abort.aborted().await;
    *place = None;
    reason
}

async fn next_deadline(place: &mut Option<Deadline>) -> f64 {
    let Some(deadline) = place else {
        return pending().await;
    };
    (&mut deadline.over).await;
    let milliseconds = deadline.milliseconds;
    *place = None;
    milliseconds
}
