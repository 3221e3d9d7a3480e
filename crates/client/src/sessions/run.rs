//! Running a script in a session: it is sent, followed to its end, and interrupted where that is asked for.

use std::cell::Cell;
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::fifo_lock::FifoGuard;
use super::interrupt::Interruption;
use super::run_end::RunEnd;
use super::run_output::RunOutput;
use super::run_result::StopCause;
use super::send_queue::{PendingSend, SendQueue};
use super::session::{Shell, State};
use super::{Session, script};
use crate::error::NotStopped;
use crate::execs::{StopRequests, Trigger, WaitOptions, delete, stdin_chunks, write_all};
use crate::http::FINISH_TIMEOUT_MS;
use crate::output::{Encoding, ExecResult, Transcript};
use crate::{Call, Error, Host, Nonce, Result};

/// How long the answer to a script may take, in milliseconds, once its output has been lost.
const REFUSAL_TIMEOUT_MS: f64 = 500.0;

impl Session {
    /// Runs a script when those before it are done: the order is that of the calls.
    pub fn run(&self, script: String, options: WaitOptions) -> Call<ExecResult> {
        let guard = self.0.lock.lock();
        let session = self.clone();
        Box::pin(async move { session.run_when_free(guard, &script, options).await })
    }

    async fn run_when_free(
        &self,
        guard: impl Future<Output = Option<FifoGuard>>,
        script: &str,
        options: WaitOptions,
    ) -> Result<ExecResult> {
        let mut stops = options.stop_requests(&**self.0.agent.http.host());
        if let Some(request) = stops.already_requested() {
            return Err(request.not_started(Encoding::Utf8));
        }
        let guard = match select(pin!(guard), pin!(stops.next())).await {
            Either::Left((guard, _)) => guard,
            Either::Right((stop_cause, _)) => return Err(stop_cause.not_started(Encoding::Utf8)),
        };
        let mut shell = self.borrow_shell()?;
        let (result, over) = shell.run(script, options, stops).await;
        self.return_shell(match over {
            None => State::Ready(shell),
            Some(reason) => State::Over(reason),
        });
        drop(guard);
        match result {
            // It is this session that was closed, not the sandbox.
            Err(error) if error.is_closed() && !self.0.sandbox_agent.http.is_closed() => {
                Err(self.over("it was closed"))
            }
            result => result,
        }
    }
}

impl Shell {
    /// Runs one script. Also says why the session is over with it, if it is.
    async fn run(
        &mut self,
        script: &str,
        options: WaitOptions,
        mut stops: StopRequests,
    ) -> (Result<ExecResult>, Option<String>) {
        let WaitOptions { listener, max_output_bytes, grace_ms, .. } = options;
        let host = self.agent.http.host().clone();
        let nonce = Nonce::of_bytes(host.random_bytes());
        let line = script::run(&nonce, script, self.last_exit_code, self.streams);
        let transcript = Transcript::new(&host, &self.id, Encoding::Utf8, max_output_bytes);
        let output = RunOutput::new(self.id.clone(), &nonce, transcript, listener);
        let (arrived, forced) = (Rc::new(Cell::new(false)), Cell::new(false));
        let (started_sender, started) = oneshot::channel();
        let started = async { started.await.map_err(|_| Error::Closed.into()) };
        let started = started.boxed_local().shared();
        let sending = self.send(line, &nonce, started.clone(), arrived.clone());
        let mut interrupted = false;
        let (end, stop_cause) = {
            let (fail, mut failed) = oneshot::channel();
            let Self { agent, id, pid, user, reader, unread, .. } = &mut *self;
            let following = output.follow(reader, unread, Some(started_sender), Some(fail));
            let (agent, id) = (&*agent, &*id);
            let send_queue = SendQueue::new(sending.clone());
            // In a box: it is polled in two places, and would be compiled into both.
            let mut following =
                follow_while_sending(&*host, following, send_queue.settled()).boxed_local();
            let stop_cause = {
                let next_stop = pin!(next_stop(&mut stops, &mut failed));
                match select(&mut following, next_stop).await {
                    Either::Left((end, _)) => Err(end),
                    Either::Right((stop_cause, _)) => Ok(stop_cause),
                }
            };
            match stop_cause {
                // The last of its output may be too much, or the caller's function may have thrown at it.
                Err(end) => (end, failed.try_recv().ok().flatten().map(StopCause::Failure)),
                Ok(stop_cause) => {
                    interrupted = true;
                    output.stopping.controller().abort(None);
                    let first = match &stop_cause {
                        StopCause::Request(request) => request.trigger,
                        StopCause::Failure(_) => Trigger::Stop,
                    };
                    let interruption = Interruption {
                        agent,
                        id,
                        pid: *pid,
                        user: user.as_deref(),
                        nonce: &nonce,
                        markers: &output.markers,
                        send_queue: &send_queue,
                        forced: &forced,
                    };
                    let interrupting = interruption.escalate(
                        has_begun(started.clone()),
                        first,
                        grace_ms,
                        &mut stops,
                    );
                    let end = match select(following, pin!(interrupting)).await {
                        Either::Left((end, _)) => end,
                        Either::Right((Ok(()), _)) => {
                            RunEnd::Unstoppable { begun: output.markers.borrow().begun() }
                        }
                        Either::Right((Err(error), _)) => RunEnd::of_input(error),
                    };
                    (end, Some(stop_cause))
                }
            }
        };
        match &end {
            // The shell has read all, and the answer that says so may be on its way.
            RunEnd::Ready if !interrupted => {
                host.linger(Box::pin(sending.map(drop)), FINISH_TIMEOUT_MS);
            }
            _ => drop(sending),
        }
        let begun = output.markers.borrow().begun();
        let end = end.of_run(&self.id, begun, arrived.get());
        let reason = end.over();
        let unstopped = match &end {
            // Nothing of the script runs, or closing ends it.
            RunEnd::Lost(error) if matches!(**error, Error::Closed | Error::Session { .. }) => None,
            // It may end by itself, unless it is to be stopped.
            RunEnd::Lost(_) if stop_cause.is_none() => None,
            RunEnd::Lost(_) | RunEnd::InputLost(_) | RunEnd::Unstoppable { .. } => {
                let killed = self.kill().await;
                forced.set(forced.get() || killed.is_ok());
                killed.err()
            }
            RunEnd::Inaccessible { refusal, script } if script.may_run() => {
                Some(NotStopped::Undelivered(refusal.clone()))
            }
            _ => None,
        };
        match end {
            RunEnd::Ready => self.last_exit_code = output.exit_code().unwrap_or_default(),
            RunEnd::NotSent(_) => self.reader.suspend(),
            _ => {}
        }
        (output.result(end, stop_cause, forced.get(), unstopped), reason)
    }

    /// Sends a script, and its end when it has begun; says whether something has `arrived`.
    fn send(
        &self,
        line: String,
        nonce: &Nonce,
        started: PendingSend<'static>,
        arrived: Rc<Cell<bool>>,
    ) -> PendingSend<'static> {
        let (agent, id) = (self.agent.clone(), self.id.clone());
        let end = script::end(nonce, 0);
        let sending = async move {
            for chunk in stdin_chunks(&line) {
                write_all(&agent, &id, chunk).await?;
                arrived.set(true);
            }
            has_begun(started).await;
            write_all(&agent, &id, &end).await
        };
        sending.boxed_local().shared()
    }

    /// Ends the shell and everything in its group.
    async fn kill(&self) -> std::result::Result<(), NotStopped> {
        delete(&self.agent, &self.id).await.map_err(NotStopped::Undelivered)
    }
}

/// Resolves when the script has begun.
async fn has_begun(started: PendingSend<'static>) {
    if started.await.is_err() {
        // It never will: the output has ended.
        pending::<()>().await;
    }
}

/// Follows the output while the script is sent.
async fn follow_while_sending(
    host: &dyn Host,
    following: impl Future<Output = RunEnd>,
    sending: impl Future<Output = Result<()>>,
) -> RunEnd {
    let sending = async {
        match sending.await {
            Ok(()) => pending().await,
            Err(error) => error,
        }
    };
    match select(pin!(following), pin!(sending)).await {
        // What became of the script says more, and may be on its way.
        Either::Left((RunEnd::Lost(lost), sending))
            if matches!(*lost, Error::ExitCodeMissing { .. }) =>
        {
            match select(sending, host.sleep(REFUSAL_TIMEOUT_MS)).await {
                Either::Left((error, _)) => RunEnd::InputLost(error),
                Either::Right(_) => RunEnd::Lost(lost),
            }
        }
        Either::Left((end, _)) => end,
        Either::Right((error, _)) => RunEnd::of_input(error),
    }
}

async fn next_stop(
    stops: &mut StopRequests,
    failed: &mut oneshot::Receiver<Box<Error>>,
) -> StopCause {
    let failed = async {
        match failed.await {
            Ok(error) => error,
            Err(_) => pending().await,
        }
    };
    match select(pin!(stops.next()), pin!(failed)).await {
        Either::Left((request, _)) => StopCause::Request(request),
        Either::Right((error, _)) => StopCause::Failure(error),
    }
}
