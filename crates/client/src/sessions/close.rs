//! Closing sessions.

use std::pin::pin;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::{Session, Sessions};
use crate::execs::{ProcessGroup, SignalResult, delete};
use crate::{Agent, Call, ExecId, Result};

/// How long the shell and its jobs may take to end after SIGHUP, in milliseconds.
const HANGUP_TIMEOUT_MS: f64 = 2000.0;

impl Session {
    /// Ends the shell and everything in its group, also when it is called again.
    pub fn close(&self) -> Call<()> {
        let session = self.clone();
        Box::pin(async move { session.close_once().await })
    }

    async fn close_once(&self) -> Result<()> {
        self.end("it was closed");
        let (agent, id) = (self.0.sandbox_agent.clone(), self.0.id.clone());
        let hanging_up = async move { hang_up_and_forget(&agent, &id).await };
        let start = || hanging_up.boxed_local().shared();
        let closing = self.0.closing.borrow_mut().get_or_insert_with(start).clone();
        // The run that is under way, and those behind it.
        self.0.agent.http.close();
        let closed = closing.clone().await;
        match &closed {
            Ok(()) => self.0.siblings.borrow_mut().retain(|session| session.0.id != self.0.id),
            // The next one tries again, unless somebody does so already.
            Err(_) => {
                self.0.closing.borrow_mut().take_if(|last| last.ptr_eq(&closing));
            }
        }
        closed
    }
}

impl Sessions {
    /// Ends all sessions with their sandbox, by requests of which nobody learns what became.
    pub fn end_all(&self) {
        for session in self.open.take() {
            session.end("its sandbox was closed");
            let agent = self.agent.detached();
            let host = agent.http.host().clone();
            host.spawn(Box::pin(async move {
                // There is nobody left to tell.
                delete(&agent, &session.0.id).await.unwrap_or_default();
            }));
        }
    }
}

/// As when a terminal goes away: SIGHUP, which an interactive shell heeds (POSIX, sh: it ignores
/// SIGTERM). What is left is killed.
async fn hang_up_and_forget(agent: &Agent, id: &ExecId) -> Result<()> {
    let hung_up = pin!(hang_up(agent, id));
    match select(hung_up, agent.http.host().sleep(HANGUP_TIMEOUT_MS)).await {
        // What failed here shows below, or does not matter.
        Either::Left(_) | Either::Right(_) => {}
    }
    match delete(agent, id).await {
        // The agent knows nothing of it any more.
        Err(error) if error.status_of_agent() == Some(404) => Ok(()),
        deleted => deleted,
    }
}

/// Resolves when no process of the group is left.
async fn hang_up(agent: &Agent, id: &ExecId) -> Result<()> {
    let target = ProcessGroup::new(id);
    let mut sent = target.signal(agent, "SIGHUP").await?;
    let (mut pause, longest) = target.poll_pauses();
    while matches!(sent, SignalResult::Signalled) {
        agent.http.pause(pause).await?;
        pause = (pause * 2.0).min(longest);
        sent = target.signal(agent, "0").await?;
    }
    Ok(())
}
