//! Interrupting a script so that its shell goes on: SIGINT, a grace period, SIGKILL to all but the
//! shell. The rungs are those of the stop ladder.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;

use futures_util::future::{Either, FutureExt, select};
use sandpipe_protocol::CreateExecRequest;

use super::markers::{Markers, Nonce};
use super::script;
use crate::error::{Error, Result};
use crate::execs::errand::errand;
use crate::execs::input::feed_on;
use crate::execs::ladder::{Ladder, Push, Rung};
use crate::execs::signal::Target;
use crate::execs::stop::next_push;
use crate::execs::stop_requests::StopRequests;
use crate::request::ExecId;
use crate::sleep::sleep;
use crate::transport::Transport;

/// How long the shell may take to say that it is ready before it is asked again, in milliseconds: a
/// shell that reads ahead loses what it has read with the signal.
const ANSWER: f64 = 500.0;

/// How long it is tried to kill all but the shell, in milliseconds. A shell that traps SIGINT, or
/// goes round a loop of its own commands, is not helped by it.
const PATIENCE: f64 = 3000.0;

/// A run that is to be interrupted.
pub(super) struct Interruption<'a> {
    pub(super) transport: &'a Transport,
    pub(super) id: &'a ExecId,
    pub(super) pid: u32,
    pub(super) user: Option<&'a str>,
    pub(super) nonce: &'a Nonce,
    pub(super) markers: &'a RefCell<Markers>,
    /// It took SIGKILL.
    pub(super) forced: &'a Cell<bool>,
}

impl Interruption<'_> {
    /// Makes the script end. That it has ended is in the output: who reads that drops this. It
    /// resolves only where nothing helped.
    pub(super) async fn climb(
        &self,
        begun: impl Future<Output = ()>,
        first: Push,
        grace_ms: f64,
        requests: &mut StopRequests,
    ) {
        let begun = begun.shared();
        let mut ladder = Ladder::default();
        let mut next = ladder.push(first);
        while let Some(rung) = next {
            let acting = async {
                // Before that the shell still reads: it would drop the first half of the script and
                // run the second.
                begun.clone().await;
                match rung {
                    Rung::Terminate => self.interrupt().await,
                    Rung::Kill => self.kill_others().await,
                }
            };
            let pushing = async {
                match rung {
                    Rung::Terminate => next_push(rung, grace_ms, requests).await,
                    Rung::Kill => {
                        sleep(PATIENCE).await;
                        Push::GraceOver
                    }
                }
            };
            next = match select(pin!(acting), pin!(pushing)).await {
                Either::Left((_failed, _)) => ladder.push(Push::GraceOver),
                Either::Right((push, _)) => ladder.push(push),
            };
        }
    }

    /// Sends SIGINT once; it is a script's to act upon. Gives the reason why that is not possible.
    async fn interrupt(&self) -> Error {
        // From now on the end that was asked for before is not the end of the run: the next one is
        // not to begin while a signal is under way.
        let mut serial = self.await_another();
        let sent = async {
            let target = Target::find(self.transport, self.id).await?;
            target.signal(self.transport, "SIGINT").await
        };
        if let Err(error) = sent.await {
            return error;
        }
        loop {
            if let Err(error) = self.ask(serial).await {
                return error;
            }
            sleep(ANSWER).await;
            serial = self.await_another();
        }
    }

    /// Kills what the shell waits for, again and again: a script may go on to something else.
    async fn kill_others(&self) -> Error {
        let request = CreateExecRequest {
            command: "sh".to_owned(),
            args: ["-c", script::KILL_OTHERS, "sh", &self.pid.to_string()]
                .map(str::to_owned)
                .into(),
            interactive: Some(false),
            user: self.user.map(str::to_owned),
            ..CreateExecRequest::default()
        };
        self.forced.set(true);
        let mut pause = 20.0;
        loop {
            let serial = self.await_another();
            let killed = errand(self.transport, &request).await.map(|_| ());
            let asked = match killed {
                Ok(()) => self.ask(serial).await,
                Err(error) => Err(error),
            };
            if let Err(error) = asked {
                return error;
            }
            sleep(pause).await;
            pause = (pause * 2.0).min(ANSWER);
        }
    }

    fn await_another(&self) -> u32 {
        self.markers.borrow_mut().await_another()
    }

    async fn ask(&self, serial: u32) -> Result<()> {
        feed_on(self.transport, self.id, &script::end(self.nonce, serial)).await
    }
}
