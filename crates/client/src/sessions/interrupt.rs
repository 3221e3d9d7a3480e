//! Interrupting a script so that its shell goes on: SIGINT, a grace period, SIGKILL to all but the
//! shell. The rungs are those of the stop ladder.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::CreateExecRequest;

use super::markers::Markers;
use super::script;
use super::send_queue::{PendingSend, SendQueue};
use crate::execs::{
    Ladder, ProcessGroup, Rung, StopRequests, Trigger, next_trigger, run_internal, write_all,
};
use crate::{Agent, Error, ExecId, Nonce, Operation, Result};

/// How long a script may take to arrive and to begin, in milliseconds, once it is to be stopped.
const START_TIMEOUT_MS: f64 = 30_000.0;

/// How long the shell may take to say that it is ready before it is asked again, in milliseconds: a
/// shell that reads ahead loses what it has read with the signal. Each time it may take longer than
/// the time before, so that its answer comes in time however long the way is.
const READY_RETRY_MS: f64 = 500.0;

/// The same where all but the shell is killed: a script may go on to something else.
const READY_RETRY_AFTER_KILL_MS: f64 = 20.0;

/// How long it is tried to kill all but the shell, in milliseconds, from the first time on. A shell that
/// traps SIGINT, or goes round a loop of its own commands, is not helped by it.
const KILL_OTHERS_TIMEOUT_MS: f64 = 3000.0;

/// A run that is to be interrupted.
#[derive(Clone, Copy)]
pub(super) struct Interruption<'a, 'run> {
    pub(super) agent: &'run Agent,
    pub(super) id: &'run ExecId,
    pub(super) pid: u32,
    pub(super) user: Option<&'a str>,
    pub(super) nonce: &'run Nonce,
    pub(super) markers: &'a RefCell<Markers>,
    pub(super) send_queue: &'a SendQueue<'run>,
    /// It took SIGKILL.
    pub(super) forced: &'a Cell<bool>,
}

impl<'run> Interruption<'_, 'run> {
    /// Makes the script end. That it has ended is in the output: who reads that drops this. It
    /// resolves only where nothing helped, or nothing but killing the shell would be quick enough.
    ///
    /// # Errors
    /// What was sent to the shell may have arrived or not.
    pub(super) async fn escalate(
        &self,
        started: impl Future<Output = ()>,
        first: Trigger,
        grace_ms: f64,
        requests: &mut StopRequests,
    ) -> Result<()> {
        let mut ladder = Ladder::default();
        let mut next = ladder.advance(first);
        // Before that the shell still reads: it would drop the first half of the script and run the
        // second.
        {
            let forced = async {
                let mut trigger = first;
                while trigger != Trigger::Force {
                    trigger = requests.next().await.trigger;
                    next = ladder.advance(trigger).or(next);
                }
            };
            let (forced, late) = (pin!(forced), self.sleep(START_TIMEOUT_MS));
            if let Either::Right(_) = select(pin!(started), select(forced, late)).await {
                return Ok(());
            }
        }
        while let Some(rung) = next {
            let acting = async {
                match rung {
                    Rung::Terminate => self.interrupt().await,
                    Rung::Kill => self.kill_others().await,
                }
            };
            let triggered = async {
                match rung {
                    Rung::Terminate => next_trigger(self.agent, rung, grace_ms, requests).await,
                    Rung::Kill => pending().await,
                }
            };
            next = match select(pin!(acting), pin!(triggered)).await {
                Either::Left((acted, _)) => {
                    acted?;
                    ladder.advance(Trigger::GraceOver)
                }
                Either::Right((trigger, _)) => ladder.advance(trigger),
            };
        }
        Ok(())
    }

    /// Sends SIGINT once; it is a script's to act upon.
    async fn interrupt(&self) -> Result<()> {
        // From now on the end that was asked for before is not the end of the run: the next one is
        // not to begin while a signal is under way.
        let mut serial = self.expect_another_end();
        let (agent, id) = (self.agent, self.id);
        let signalling = async move {
            let target = ProcessGroup::new(id);
            let attempt = async || target.signal(agent, "SIGINT").await;
            // A second one may hit something else.
            let may_repeat = |error: &Error| !error.is_ambiguous();
            agent.http.repeat(Operation::SignalExec, may_repeat, attempt).await.map(drop)
        };
        self.send_queue.push(signalling).await?;
        let mut pause = READY_RETRY_MS;
        loop {
            self.request_end(serial).await?;
            self.sleep(pause).await;
            pause *= 2.0;
            serial = self.expect_another_end();
        }
    }

    /// Kills what the shell waits for, again and again: a script may go on to something else.
    async fn kill_others(&self) -> Result<()> {
        self.forced.set(true);
        let serial = self.expect_another_end();
        self.kill_others_once().await?;
        let killing = async {
            self.request_end(serial).await?;
            let mut pause = READY_RETRY_AFTER_KILL_MS;
            loop {
                self.sleep(pause).await;
                pause *= 2.0;
                let serial = self.expect_another_end();
                self.kill_others_once().await?;
                self.request_end(serial).await?;
            }
        };
        match select(pin!(killing), self.sleep(KILL_OTHERS_TIMEOUT_MS)).await {
            Either::Left((failed, _)) => failed,
            Either::Right(_) => Ok(()),
        }
    }

    async fn kill_others_once(&self) -> Result<()> {
        let request = CreateExecRequest {
            command: "sh".to_owned(),
            args: ["-c", script::KILL_OTHERS, "sh", &self.pid.to_string()]
                .map(str::to_owned)
                .into(),
            interactive: Some(false),
            user: self.user.map(str::to_owned),
            ..CreateExecRequest::default()
        };
        run_internal(self.agent, &request).await.map(drop)
    }

    fn sleep(&self, milliseconds: f64) -> LocalBoxFuture<'static, ()> {
        self.agent.http.host().sleep(milliseconds)
    }

    fn expect_another_end(&self) -> u32 {
        self.markers.borrow_mut().expect_another_end()
    }

    fn request_end(&self, serial: u32) -> PendingSend<'run> {
        let Self { agent, id, nonce, .. } = *self;
        self.send_queue.push(async move { write_all(agent, id, &script::end(nonce, serial)).await })
    }
}
