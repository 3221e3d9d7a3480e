//! What every operation has of its agent: how to reach it, and what it offers beyond the base interface.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use sandpipe_protocol::Health;

use crate::http::{HttpClient, Request};
use crate::{Call, Error, Operation, Result};

/// An extension that an agent announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// A create may be repeated: the same key gives the same exec.
    IdempotencyKey,
    /// A signal for a whole process group.
    Signal,
    StdinEof,
    /// Standard input can be sent as bytes.
    StdinBytes,
    /// A WebSocket whose output is numbered and whose input is answered.
    Attach,
    /// A create that is answered with the stream of the output.
    CreateStream,
    /// Output in binary frames.
    Frames,
    /// A stream of the list with what has changed in place of all of it.
    ListChanges,
    /// A stream of the list that gives signs of life as often as is asked for.
    Heartbeat,
    /// A create may name a policy.
    Policy,
    /// The base interface's files and directories.
    Files,
    /// Files as bytes, in parts, and written piece by piece.
    FilesRaw,
    /// Changes in directories as they happen.
    Watch,
    /// Which ports are listened on.
    Ports,
    /// Connections to ports.
    PortForward,
    /// Tokens that may do a part of all.
    ScopedTokens,
}

impl Feature {
    /// Its name in the answer to `/health`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency-key",
            Self::Signal => "signal",
            Self::StdinEof => "stdin-eof",
            Self::StdinBytes => "stdin-bytes",
            Self::Attach => "attach",
            Self::CreateStream => "create-stream",
            Self::Frames => "frames",
            Self::ListChanges => "list-changes",
            Self::Heartbeat => "heartbeat",
            Self::Policy => "policy",
            Self::Files => "files",
            Self::FilesRaw => "files-raw",
            Self::Watch => "watch",
            Self::Ports => "ports",
            Self::PortForward => "port-forward",
            Self::ScopedTokens => "scoped-tokens",
        }
    }
}

/// An agent. Clones share their state.
#[derive(Clone)]
pub struct Agent {
    pub(crate) http: HttpClient,
    features: Rc<Features>,
}

/// The extensions of one agent: asked for when they are first needed, and again when another agent may have come.
#[derive(Default)]
struct Features {
    /// What the agent offers, once it has said so.
    answer: RefCell<Option<Vec<String>>>,
    /// The question that is under way, for all who ask meanwhile. It ends with the last of them: nothing goes on
    /// for a call that has been given up.
    question: RefCell<Option<WeakShared<Call<Vec<String>>>>>,
    was_seen: Cell<bool>,
}

impl Agent {
    /// The agent of an HTTP client. Nothing is asked yet.
    pub fn new(http: HttpClient) -> Self {
        Self { http, features: Rc::default() }
    }

    /// The same agent for something that can be closed by itself.
    pub fn child(&self) -> Self {
        Self { http: self.http.child(), features: self.features.clone() }
    }

    /// The same agent for what is still to be done when all else has been closed.
    pub(crate) fn detached(&self) -> Self {
        Self { http: self.http.detached(), features: self.features.clone() }
    }

    /// Ends all that is under way and refuses what comes after.
    pub fn close(&self) {
        self.http.close();
    }

    /// Whether it is known that an agent is there: then a page where its answer should be is trouble
    /// on the way, and not a wrong address.
    pub(crate) fn was_seen(&self) -> bool {
        self.features.was_seen.get()
    }

    /// Whether the agent offers an extension.
    ///
    /// # Errors
    /// It could not be asked. The next call asks again.
    pub(crate) fn offers(&self, feature: Feature) -> LocalBoxFuture<'_, Result<bool>> {
        let includes = move |offered: &[String]| offered.iter().any(|name| name == feature.name());
        Box::pin(async move {
            loop {
                if let Some(offered) = self.features.answer.borrow().as_deref() {
                    return Ok(includes(offered));
                }
                match self.question().await {
                    Ok(offered) => return Ok(includes(&offered)),
                    // What asked has been closed meanwhile, and this has not.
                    Err(error) if matches!(*error, Error::Closed) && !self.http.is_closed() => {}
                    Err(error) => return Err(error),
                }
            }
        })
    }

    /// Has the extensions be asked for again: another agent may be there by now.
    pub(crate) fn forget_features(&self) {
        *self.features.answer.borrow_mut() = None;
    }

    /// Fails where the agent says what it offers, and this is not in it. One that says nothing may have what is part of the
    /// base interface.
    ///
    /// # Errors
    /// [`Error::Unsupported`]: `what` needs it. Or the agent could not be asked.
    pub(crate) fn check_offers(
        &self,
        feature: Feature,
        what: &'static str,
    ) -> LocalBoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let is_offered = self.offers(feature).await?;
            let says_nothing = self.features.answer.borrow().as_ref().is_none_or(Vec::is_empty);
            if is_offered || says_nothing {
                return Ok(());
            }
            Err(Error::Unsupported { feature: feature.name(), what }.into())
        })
    }

    fn question(&self) -> Shared<Call<Vec<String>>> {
        let mut last = self.features.question.borrow_mut();
        let pending = last.as_ref().and_then(WeakShared::upgrade);
        // One whose answer is not final is there until the last who asked has had it.
        pending.filter(|question| question.peek().is_none()).unwrap_or_else(|| {
            let agent = self.clone();
            let asking: Call<_> = Box::pin(async move { agent.ask_features().await });
            let question = asking.shared();
            *last = question.downgrade();
            question
        })
    }

    /// Where something else than an agent answers, this call goes on without extensions: the base interface is
    /// all that is needed.
    async fn ask_features(&self) -> Result<Vec<String>> {
        match self.health().await {
            Ok(health) => {
                let features = health.map(|health| health.features).unwrap_or_default();
                *self.features.answer.borrow_mut() = Some(features.clone());
                Ok(features)
            }
            Err(error) => match *error {
                Error::Http { .. } | Error::Protocol { .. } => Ok(Vec::new()),
                _ => Err(error),
            },
        }
    }

    /// What the agent's commands may touch: the name of a preset (`open`: all that the agent may), or `custom`. None where
    /// the agent does not say it. Each call asks: another agent may be there by now.
    ///
    /// # Errors
    /// It could not be asked.
    pub fn policy(&self) -> Call<Option<String>> {
        let agent = self.clone();
        Box::pin(async move { Ok(agent.health().await?.and_then(|health| health.policy)) })
    }

    /// What the agent says of itself. One that has no such page says nothing.
    async fn health(&self) -> Result<Option<Health>> {
        let request = Request::get(Operation::AskHealth, "/health".to_owned());
        match self.http.ask(request).await {
            Ok(health) => {
                self.features.was_seen.set(true);
                Ok(Some(health))
            }
            Err(error) if error.status_of_agent() == Some(404) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
