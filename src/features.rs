//! What an agent offers beyond the base interface.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared};
use sandpipe_protocol::Health;

use crate::request::{Request, read_json};
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

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
    /// A stream of the list that tells what has changed.
    ListChanges,
}

impl Feature {
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
pub(crate) struct Features {
    answer: Rc<RefCell<Option<Answer>>>,
    answered: Rc<Cell<bool>>,
}

/// One question for all who ask meanwhile.
type Answer = Shared<LocalBoxFuture<'static, Rc<Result<Offer>>>>;

/// What an agent answers.
#[derive(Debug)]
struct Offer {
    features: Vec<String>,
    /// It is the agent's own word.
    told: bool,
    /// It will be the same the next time.
    lasting: bool,
}

impl Features {
    /// Whether the agent offers a feature.
    ///
    /// # Errors
    /// It could not be asked. The next call asks again.
    pub(crate) async fn offers(&self, feature: Feature, transport: &Transport) -> Result<bool> {
        loop {
            let answer = self.answer(transport).await;
            match &*answer {
                Ok(offer) => return Ok(offer.features.iter().any(|name| name == feature.name())),
                // What asked has been closed meanwhile, and this has not.
                Err(error) if matches!(**error, Error::Closed) && !transport.is_closed() => {}
                Err(error) => return Err(error.clone()),
            }
        }
    }

    /// Whether it is known that an agent is there: then a page where its answer should be is trouble
    /// on the way, and not a wrong address.
    pub(crate) fn answered(&self) -> bool {
        self.answered.get()
    }

    /// Asks the agent, unless it is being asked or has answered for good.
    async fn answer(&self, transport: &Transport) -> Rc<Result<Offer>> {
        let answer = self
            .answer
            .borrow_mut()
            .get_or_insert_with(|| {
                let transport = transport.clone();
                async move { Rc::new(ask(&transport).await) }.boxed_local().shared()
            })
            .clone();
        let answer = answer.await;
        let lasts = answer.as_ref().as_ref().is_ok_and(|offer| offer.lasting);
        let mut last = self.answer.borrow_mut();
        // It may have been asked anew meanwhile.
        let is_last =
            last.as_ref().and_then(Shared::peek).is_some_and(|it| Rc::ptr_eq(it, &answer));
        if is_last && !lasts {
            last.take();
        }
        self.answered
            .set(self.answered.get() || answer.as_ref().as_ref().is_ok_and(|offer| offer.told));
        answer
    }
}

/// An agent that has no such page offers nothing. Where something else answers, this call goes on
/// without extensions: the base interface is all that is needed.
async fn ask(transport: &Transport) -> Result<Offer> {
    let operation = Operation::AskHealth;
    let request = Request::get(operation, "/health".to_owned());
    let nothing = |lasting| Ok(Offer { features: Vec::new(), told: false, lasting });
    match transport.send(&request).await.and_then(|body| read_json(operation, &body)) {
        Ok(Health { features, .. }) => Ok(Offer { features, told: true, lasting: true }),
        Err(error) => match *error {
            Error::Http { status: 404, .. } => nothing(true),
            Error::Http { .. } | Error::Protocol { .. } => nothing(false),
            _ => Err(error),
        },
    }
}
