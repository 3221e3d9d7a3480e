//! A WebSocket connection to an exec: the extension `attach`.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use sandpipe_protocol::ExecStdout;
use sandpipe_protocol::json;
use sandpipe_protocol::websocket::{ClientFrame, ClientMessage};

use super::message::{SocketEvent, read};
use crate::host::{Socket, SocketMessage};
use crate::output::OutputFault;
use crate::{AbortSignal, Error, Host, Operation, Result};

/// How often the agent is asked for a sign of life, in milliseconds: a page sees no pings.
const PING_INTERVAL_MS: f64 = 15_000.0;

/// How many times in a row there may be none before the connection is taken for dead.
const MAX_MISSED_ANSWERS: u32 = 3;

/// How much output may wait to be read, in bytes. A WebSocket can't be told to wait: it is closed,
/// and another one opened for what comes after.
const MAX_UNREAD_BYTES: usize = 1024 * 1024;

/// How long a connection may take to open, in milliseconds.
const CONNECT_TIMEOUT_MS: f64 = 15_000.0;

/// A connection to an exec that the agent has accepted. The WebSocket itself is the [`SocketTask`]'s.
pub(crate) struct ExecSocket {
    /// The agent's address, for messages.
    url: String,
    next_id: Cell<u32>,
    outgoing: UnboundedSender<Outgoing>,
    unread: Cell<usize>,
    ended: Cell<Option<SocketEnd>>,
}

/// A frame that is to be sent.
struct Outgoing {
    id: u32,
    text: String,
    answer: oneshot::Sender<Result<()>>,
}

/// Why no more output comes over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketEnd {
    /// More came than is kept: nothing is wrong, and another one brings the rest.
    Overflow,
    /// The agent ended it as it wished.
    Clean,
    Broken,
}

/// The output that comes over a connection. Dropping it closes the connection, as soon as what has
/// been sent is answered.
pub(crate) struct SocketOutput {
    socket: Rc<ExecSocket>,
    receiver: UnboundedReceiver<ReceivedEvent>,
    _reading: oneshot::Sender<()>,
}

/// A piece of output, and its size on the way.
type ReceivedEvent = (std::result::Result<ExecStdout, OutputFault>, usize);

impl ExecSocket {
    /// Connects, until `scope` is aborted. None where the way is not open to WebSockets.
    pub(super) async fn open(
        host: &Rc<dyn Host>,
        address: &str,
        url: &str,
        scope: AbortSignal,
    ) -> Option<SocketOutput> {
        let timeout = host.sleep(CONNECT_TIMEOUT_MS);
        let connection = match select(host.open_socket(address), timeout).await {
            Either::Left((connection, _)) => connection?,
            Either::Right(_) => return None,
        };
        let (outgoing, to_send) = unbounded();
        let socket = Rc::new(Self {
            url: url.to_owned(),
            next_id: Cell::default(),
            outgoing,
            unread: Cell::default(),
            ended: Cell::default(),
        });
        let (sender, receiver) = unbounded();
        let (reading, left) = oneshot::channel();
        let task = SocketTask {
            host: host.clone(),
            connection,
            socket: socket.clone(),
            unanswered: Vec::new(),
            output: Some(sender),
        };
        host.spawn(Box::pin(task.run(to_send, scope, left)));
        Some(SocketOutput { socket, receiver, _reading: reading })
    }

    /// Whether it takes more to be sent.
    pub(super) fn is_open(&self) -> bool {
        self.ended.get().is_none()
    }

    /// Has a frame carried out by the agent.
    ///
    /// # Errors
    /// The agent refused it, or the connection broke before the answer.
    pub(crate) async fn deliver(&self, frame: ClientFrame) -> Result<()> {
        let (id, text) = self.message(frame);
        let (answer, answered) = oneshot::channel();
        if self.outgoing.unbounded_send(Outgoing { id, text, answer }).is_err() {
            return Err(self.broken(true));
        }
        // The sender is dropped with the connection.
        answered.await.unwrap_or_else(|_| Err(self.broken(false)))
    }

    /// The number of a frame, and its text.
    fn message(&self, frame: ClientFrame) -> (u32, String) {
        let id = self.next_id.get();
        self.next_id.set(id.wrapping_add(1));
        (id, json::to_string(&ClientMessage { frame, id: Some(id) }))
    }

    fn broken(&self, never_sent: bool) -> Box<Error> {
        Box::new(Error::Network {
            operation: Operation::SendStdin,
            url: self.url.clone(),
            reason: "the WebSocket broke before the agent answered".to_owned(),
            never_sent,
            not_run: false,
            cause: None,
        })
    }
}

impl SocketOutput {
    /// The next piece of output and all that have come by now; None at the end.
    pub(crate) async fn next(
        &mut self,
    ) -> Option<Vec<std::result::Result<ExecStdout, OutputFault>>> {
        let mut received = vec![self.receiver.next().await?];
        while let Ok(event) = self.receiver.try_recv() {
            received.push(event);
        }
        let unread = &self.socket.unread;
        let events = received.into_iter().map(|(event, size)| {
            unread.set(unread.get().saturating_sub(size));
            event
        });
        Some(events.collect())
    }

    pub(crate) fn end(&self) -> SocketEnd {
        self.socket.ended.get().unwrap_or(SocketEnd::Broken)
    }

    pub(super) fn socket(&self) -> &Rc<ExecSocket> {
        &self.socket
    }
}

/// Owns a WebSocket: sends what is to be sent and takes what comes, as long as there is a connection.
struct SocketTask {
    host: Rc<dyn Host>,
    connection: Box<dyn Socket>,
    socket: Rc<ExecSocket>,
    /// Who waits for the answers to what has been sent.
    unanswered: Vec<(u32, oneshot::Sender<Result<()>>)>,
    /// None once nobody takes output any more: what is still to come are answers.
    output: Option<UnboundedSender<ReceivedEvent>>,
}

impl SocketTask {
    async fn run(
        mut self,
        mut to_send: UnboundedReceiver<Outgoing>,
        scope: AbortSignal,
        left: oneshot::Receiver<()>,
    ) {
        // It resolves when its sender is dropped.
        let mut left = left.fuse();
        let mut missed_answers = 0;
        while self.is_needed() {
            let connection = &mut self.connection;
            let received = poll_fn(|context| connection.poll_receive(context));
            let idle = self.host.sleep(PING_INTERVAL_MS);
            let closed = pin!(scope.aborted());
            let stopped = select(closed, &mut left);
            let happened = select(to_send.next(), select(received, idle));
            match select(stopped, happened).await {
                Either::Left((Either::Left(_), _)) => break,
                Either::Left((Either::Right(_), _)) => self.stop_output(SocketEnd::Overflow),
                Either::Right((Either::Left((outgoing, _)), _)) => {
                    // The other end is in `socket`.
                    let Some(outgoing) = outgoing else { break };
                    self.send(outgoing);
                }
                Either::Right((Either::Right((Either::Left((message, _)), _)), _)) => {
                    missed_answers = 0;
                    let text = match message {
                        SocketMessage::Text(text) => Some(text),
                        SocketMessage::NotText => None,
                        SocketMessage::Closed { clean } => {
                            self.stop_output(if clean {
                                SocketEnd::Clean
                            } else {
                                SocketEnd::Broken
                            });
                            break;
                        }
                    };
                    self.take(text.as_deref());
                }
                Either::Right((Either::Right((Either::Right(_), _)), _)) => {
                    missed_answers += 1;
                    // Every frame is a sign of life; the answer itself is nobody's.
                    let (_, ping) = self.socket.message(ClientFrame::Ping);
                    if missed_answers > MAX_MISSED_ANSWERS || !self.connection.send(&ping) {
                        break;
                    }
                }
            }
        }
        self.stop_output(SocketEnd::Broken);
        to_send.close();
        while let Ok(Outgoing { answer, .. }) = to_send.try_recv() {
            // Nobody may be waiting any more.
            answer.send(Err(self.socket.broken(true))).unwrap_or_default();
        }
    }

    /// Whether anything that may come is of use to anyone.
    fn is_needed(&self) -> bool {
        self.output.is_some() || self.unanswered.iter().any(|(_, answer)| !answer.is_canceled())
    }

    fn stop_output(&mut self, ended: SocketEnd) {
        if self.output.take().is_some() {
            self.socket.ended.set(Some(ended));
        }
    }

    fn send(&mut self, Outgoing { id, text, answer }: Outgoing) {
        if self.connection.send(&text) {
            self.unanswered.push((id, answer));
        } else {
            // Nobody may be waiting any more.
            answer.send(Err(self.socket.broken(true))).unwrap_or_default();
        }
    }

    fn take(&mut self, text: Option<&str>) {
        let event = match read(text) {
            Ok(SocketEvent::Answer { id, answer }) => return self.take_answer(id, answer),
            Ok(SocketEvent::Notice) => return,
            Ok(SocketEvent::Event(event)) => Ok(event),
            Err(broken) => Err(broken),
        };
        let Some(output) = &self.output else {
            return;
        };
        let size = text.map_or(0, str::len);
        let unread = self.socket.unread.get() + size;
        self.socket.unread.set(unread);
        if unread > MAX_UNREAD_BYTES || output.unbounded_send((event, size)).is_err() {
            self.stop_output(SocketEnd::Overflow);
        }
    }

    fn take_answer(&mut self, id: u32, answer: Result<()>) {
        if let Some(place) = self.unanswered.iter().position(|(other, _)| *other == id) {
            // It may not be waiting any more.
            self.unanswered.remove(place).1.send(answer).unwrap_or_default();
        }
    }
}
