//! What is typed: it arrives in order, each once, and each call resolves when its text has arrived.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::Future;
use std::rc::Rc;

use futures_channel::oneshot;
use sandpipe_protocol::websocket::ClientFrame;
use sandpipe_protocol::{ExecStdin, StdinType};

use crate::execs::{MAX_STDIN_CHUNK_BYTES, send_stdin, stdin_chunks};
use crate::websocket::connector::SocketConnector;
use crate::{Agent, Error, ExecId, Result};

/// The input of a terminal. Clones share their state.
#[derive(Clone)]
pub(super) struct TerminalInput(Rc<Inner>);

struct Inner {
    agent: Agent,
    id: ExecId,
    connection: SocketConnector,
    waiting: RefCell<WriteQueue<oneshot::Sender<Result<()>>>>,
    delivering: Cell<bool>,
}

impl TerminalInput {
    pub(super) fn new(agent: Agent, id: ExecId, connection: SocketConnector) -> Self {
        let (waiting, delivering) = Default::default();
        Self(Rc::new(Inner { agent, id, connection, waiting, delivering }))
    }

    /// Sends a frame after all those before it.
    pub(super) fn send(&self, frame: ClientFrame) -> impl Future<Output = Result<()>> + use<> {
        let (sender, receiver) = oneshot::channel();
        self.0.waiting.borrow_mut().push(frame, sender);
        if !self.0.delivering.replace(true) {
            let inner = self.0.clone();
            let host = inner.agent.http.host().clone();
            host.spawn(Box::pin(async move { inner.deliver_all().await }));
        }
        async { receiver.await.unwrap_or(Err(Error::Closed.into())) }
    }
}

impl Inner {
    async fn deliver_all(&self) {
        loop {
            let next = self.waiting.borrow_mut().next();
            let Some((frame, senders)) = next else {
                break;
            };
            let outcome = self.deliver(frame).await;
            for sender in senders {
                // It may not be waiting any more.
                sender.send(outcome.clone()).unwrap_or_default();
            }
        }
        self.delivering.set(false);
    }

    async fn deliver(&self, frame: ClientFrame) -> Result<()> {
        let ClientFrame::Input { input } = frame else {
            return self.deliver_one(frame).await;
        };
        for chunk in stdin_chunks(&input) {
            self.deliver_one(ClientFrame::Input { input: chunk.to_owned() }).await?;
        }
        Ok(())
    }

    async fn deliver_one(&self, frame: ClientFrame) -> Result<()> {
        if self.agent.http.is_closed() {
            return Err(Error::Closed.into());
        }
        if let Some(socket) = self.connection.socket() {
            match socket.deliver(frame.clone()).await {
                Err(error) if error.is_never_sent() => {}
                Err(_) if self.agent.http.is_closed() => return Err(Error::Closed.into()),
                outcome => return outcome,
            }
        }
        let (kind, input) = match frame {
            ClientFrame::Input { input } => (StdinType::Stdin, input),
            ClientFrame::Resize(size) => {
                (StdinType::Resize, format!(r#"{{"cols":{},"rows":{}}}"#, size.cols, size.rows))
            }
            ClientFrame::Ping => return Ok(()),
        };
        send_stdin(&self.agent, &self.id, &ExecStdin { kind, input }).await.map(drop)
    }
}

/// The frames that wait for the one before them, with who waits for their outcome.
struct WriteQueue<T>(VecDeque<(ClientFrame, T)>);

impl<T> Default for WriteQueue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> WriteQueue<T> {
    fn push(&mut self, frame: ClientFrame, sender: T) {
        self.0.push_back((frame, sender));
    }

    /// The next frame to be sent. What is typed while another one is under way goes together: a slow
    /// way must not slow the typist.
    fn next(&mut self) -> Option<(ClientFrame, Vec<T>)> {
        let (mut first, sender) = self.0.pop_front()?;
        let mut senders = vec![sender];
        while let Some((next, _)) = self.0.front() {
            match (&mut first, next) {
                (ClientFrame::Input { input }, ClientFrame::Input { input: more })
                    if input.len() + more.len() <= MAX_STDIN_CHUNK_BYTES =>
                {
                    input.push_str(more);
                }
                // Only the last size matters.
                (ClientFrame::Resize(size), ClientFrame::Resize(later)) => *size = *later,
                _ => break,
            }
            senders.extend(self.0.pop_front().map(|(_, sender)| sender));
        }
        Some((first, senders))
    }
}
