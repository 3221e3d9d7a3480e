use std::fmt;
use std::pin::pin;

use futures_util::FutureExt;
use futures_util::future::{Either, LocalBoxFuture, Shared, select};
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::{Session, Sessions};
use crate::execs::delete::delete;
use crate::execs::signal::{Group, Target};
use crate::promise::promise;
use crate::request::ExecId;
use crate::sleep::sleep;
use crate::transport::Transport;
use sandpipe_client::error::Result;

/// How long the shell and its jobs may take to end after SIGHUP, in milliseconds.
const GRACE: f64 = 2000.0;

#[wasm_bindgen]
impl Session {
    /// Ends the shell and everything in its group, also when it is called again.
    pub fn close(&self) -> Promise {
        let session = self.clone();
        promise(async move {
            session.close_once().await?;
            Ok(JsValue::UNDEFINED)
        })
    }
}

/// A close that is under way or done, for all who ask for it.
#[derive(Clone)]
pub(super) struct Closing(Shared<LocalBoxFuture<'static, Result<()>>>);

impl fmt::Debug for Closing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Closing")
    }
}

impl Session {
    async fn close_once(&self) -> Result<()> {
        self.end("it was closed");
        let Closing(closing) = self
            .0
            .closing
            .borrow_mut()
            .get_or_insert_with(|| {
                let (transport, id) = (self.0.outer.clone(), self.0.id.clone());
                Closing(
                    async move { hang_up_and_forget(&transport, &id).await }.boxed_local().shared(),
                )
            })
            .clone();
        // The run that is under way, and those behind it.
        self.0.transport.in_flight.close();
        let closed = closing.await;
        match &closed {
            Ok(()) => self.0.siblings.borrow_mut().retain(|session| session.0.id != self.0.id),
            // The next one tries again.
            Err(_) => drop(self.0.closing.borrow_mut().take()),
        }
        closed
    }
}

impl Sessions {
    /// Ends all sessions with their sandbox, by requests of which nobody learns what became.
    pub(crate) fn end_all(&self) {
        for session in self.open.take() {
            session.end("its sandbox was closed");
            let transport = self.transport.apart();
            spawn_local(async move {
                // There is nobody left to tell.
                delete(&transport, &session.0.id).await.unwrap_or_default();
            });
        }
    }
}

/// As when a terminal goes away: SIGHUP, which an interactive shell heeds (POSIX, sh: it ignores
/// SIGTERM). What is left is killed.
async fn hang_up_and_forget(transport: &Transport, id: &ExecId) -> Result<()> {
    let hung_up = pin!(hang_up(transport, id));
    match select(hung_up, pin!(sleep(GRACE))).await {
        // What failed here shows below, or does not matter.
        Either::Left(_) | Either::Right(_) => {}
    }
    match delete(transport, id).await {
        // The agent knows nothing of it any more.
        Err(error) if error.status() == Some(404) => Ok(()),
        deleted => deleted,
    }
}

/// Resolves when no process of the group is left.
async fn hang_up(transport: &Transport, id: &ExecId) -> Result<()> {
    let target = Target::new(id);
    let mut sent = target.signal(transport, "SIGHUP").await?;
    let (mut pause, longest) = target.looks();
    while matches!(sent, Group::Signalled) {
        transport.pause(pause).await?;
        pause = (pause * 2.0).min(longest);
        sent = target.signal(transport, "0").await?;
    }
    Ok(())
}
