//! What an agent offers beyond the base interface.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};
use sandpipe_protocol::Health;

use crate::error::{Error, Result};
use crate::http::client::HttpClient;
use crate::http::request::Request;
use crate::operation::Operation;

/// An extension that an agent announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
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
    pub fn name(self) -> &'static str {
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
pub struct Features(Rc<State>);

#[derive(Debug, Default)]
struct State {
    answer: RefCell<Option<PendingHealth>>,
    was_seen: Cell<bool>,
}

/// One question for all who ask meanwhile.
type PendingHealth = Shared<LocalBoxFuture<'static, Rc<Result<Offered>>>>;

/// What an agent answers.
#[derive(Debug)]
struct Offered {
    features: Vec<String>,
    /// It is the agent's own word.
    is_own_answer: bool,
    /// It will be the same the next time.
    is_final: bool,
}

impl Features {
    /// Whether the agent offers a feature.
    ///
    /// # Errors
    /// It could not be asked. The next call asks again.
    pub async fn offers(&self, feature: Feature, http: &HttpClient) -> Result<bool> {
        loop {
            let answer = self.answer(http).await;
            match &*answer {
                Ok(offer) => return Ok(offer.features.iter().any(|name| name == feature.name())),
                // What asked has been closed meanwhile, and this has not.
                Err(error) if matches!(**error, Error::Closed) && !http.is_closed() => {}
                Err(error) => return Err(error.clone()),
            }
        }
    }

    /// Whether it is known that an agent is there: then a page where its answer should be is trouble
    /// on the way, and not a wrong address.
    pub fn was_seen(&self) -> bool {
        self.0.was_seen.get()
    }

    /// Asks the agent, unless it is being asked or has answered for good.
    async fn answer(&self, http: &HttpClient) -> Rc<Result<Offered>> {
        let answer = self
            .0
            .answer
            .borrow_mut()
            .get_or_insert_with(|| {
                let http = http.clone();
                async move { Rc::new(ask(&http).await) }.boxed_local().shared()
            })
            .clone();
        let answer = answer.await;
        let is_final = answer.as_ref().as_ref().is_ok_and(|offer| offer.is_final);
        let mut last = self.0.answer.borrow_mut();
        // It may have been asked anew meanwhile.
        let is_last =
            last.as_ref().and_then(Shared::peek).is_some_and(|it| Rc::ptr_eq(it, &answer));
        if is_last && !is_final {
            last.take();
        }
        self.0.was_seen.set(
            self.0.was_seen.get()
                || answer.as_ref().as_ref().is_ok_and(|offer| offer.is_own_answer),
        );
        answer
    }
}

/// An agent that has no such page offers nothing. Where something else answers, this call goes on
/// without extensions: the base interface is all that is needed.
async fn ask(http: &HttpClient) -> Result<Offered> {
    let request = Request::get(Operation::AskHealth, "/health".to_owned());
    let nothing = |is_final| Ok(Offered { features: Vec::new(), is_own_answer: false, is_final });
    match http.ask(request).await {
        Ok(Health { features, .. }) => {
            Ok(Offered { features, is_own_answer: true, is_final: true })
        }
        Err(error) => match *error {
            Error::Http { status: 404, .. } => nothing(true),
            Error::Http { .. } | Error::Protocol { .. } => nothing(false),
            _ => Err(error),
        },
    }
}
