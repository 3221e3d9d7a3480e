//! What an agent offers beyond the base interface.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use sandpipe_protocol::Health;

use crate::http::{HttpClient, Request};
use crate::{Error, Operation, Result};

/// An extension that an agent announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Feature {
    /// A create may be repeated: the same key gives the same exec.
    IdempotencyKey,
    /// A signal for a whole process group.
    Signal,
    /// The end of standard input.
    StdinEof,
    /// A WebSocket whose output is numbered and whose input is answered.
    Attach,
    /// A create that is answered with the stream of the output.
    CreateStream,
    /// A stream of the list with what has changed in place of all of it.
    ListChanges,
}

impl Feature {
    /// Its name in the answer to `/health`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::IdempotencyKey => "idempotency-key",
            Self::Signal => "signal",
            Self::StdinEof => "stdin-eof",
            Self::Attach => "attach",
            Self::CreateStream => "create-stream",
            Self::ListChanges => "list-changes",
        }
    }
}

/// The extensions of one agent: asked for once, when they are first needed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features(Rc<State>);

#[derive(Debug, Default)]
struct State {
    /// What the agent offers, once it has said so.
    answer: OnceCell<Vec<String>>,
    /// The question that is under way, for all who ask meanwhile. It ends with the last of them: nothing goes on
    /// for a call that has been given up.
    question: RefCell<Option<WeakShared<Question>>>,
    was_seen: Cell<bool>,
}

type Question = LocalBoxFuture<'static, Result<Vec<String>>>;

impl Features {
    /// Whether the agent offers a feature.
    ///
    /// # Errors
    /// It could not be asked. The next call asks again.
    pub(crate) async fn offers(&self, feature: Feature, http: &HttpClient) -> Result<bool> {
        let includes = |offered: &[String]| offered.iter().any(|name| name == feature.name());
        loop {
            if let Some(offered) = self.0.answer.get() {
                return Ok(includes(offered));
            }
            match self.question(http).await {
                Ok(offered) => return Ok(includes(&offered)),
                // What asked has been closed meanwhile, and this has not.
                Err(error) if matches!(*error, Error::Closed) && !http.is_closed() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether it is known that an agent is there: then a page where its answer should be is trouble
    /// on the way, and not a wrong address.
    pub(crate) fn was_seen(&self) -> bool {
        self.0.was_seen.get()
    }

    /// Asks the agent, unless it is being asked.
    fn question(&self, http: &HttpClient) -> Shared<Question> {
        let mut last = self.0.question.borrow_mut();
        let pending = last.as_ref().and_then(WeakShared::upgrade);
        // One whose answer is not final is there until the last who asked has had it.
        pending.filter(|question| question.peek().is_none()).unwrap_or_else(|| {
            let (features, http) = (self.clone(), http.clone());
            let asking: Question = Box::pin(async move { features.ask(&http).await });
            let question = asking.shared();
            *last = question.downgrade();
            question
        })
    }

    /// An agent that has no such page offers nothing. Where something else answers, this call goes on
    /// without extensions: the base interface is all that is needed.
    async fn ask(&self, http: &HttpClient) -> Result<Vec<String>> {
        let request = Request::get(Operation::AskHealth, "/health".to_owned());
        let features = match http.ask(request).await {
            Ok(Health { features, .. }) => {
                self.0.was_seen.set(true);
                features
            }
            Err(error) if error.status_of_agent() == Some(404) => Vec::new(),
            Err(error) => {
                return match *error {
                    Error::Http { .. } | Error::Protocol { .. } => Ok(Vec::new()),
                    _ => Err(error),
                };
            }
        };
        Ok(self.0.answer.get_or_init(|| features).clone())
    }
}
