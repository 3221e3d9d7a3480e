//! A WebSocket connection to an exec: the extension `attach`.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::rc::Rc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_channel::oneshot;
use futures_util::future::{Either, select};
use futures_util::{FutureExt, StreamExt};
use sandpipe_protocol::ExecStdout;
use sandpipe_protocol::json;
use sandpipe_protocol::websocket::{AgentFrame, ClientFrame, ClientMessage};
use wasm_bindgen_futures::spawn_local;

use crate::abort::Abort;
use crate::closing::Cancel;
use crate::execs::follow::Break;
use crate::sleep::sleep;
use crate::socket::{Incoming, Socket};
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

/// How often the agent is asked for a sign of life, in milliseconds: a page sees no pings.
const PING: f64 = 15_000.0;

/// How many times in a row there may be none before the connection is taken for dead.
const MOST_SILENCES: u32 = 3;

/// How much output may wait to be read, in bytes. A WebSocket can't be told to wait: it is closed,
/// and another one opened for what comes after.
const MOST_UNREAD: usize = 1024 * 1024;

/// A connection to an exec that the agent has accepted.
#[derive(Debug)]
pub(crate) struct Attachment {
    socket: Socket,
    /// The agent's address, for messages.
    url: String,
    next_id: Cell<u32>,
    /// Who waits for the answers to what has been sent.
    unanswered: RefCell<Vec<(u32, oneshot::Sender<Result<()>>)>>,
    unread: Cell<usize>,
    ended: Cell<Option<Ended>>,
}

/// Why no more output comes over an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// More came than is kept: nothing is wrong, and another one brings the rest.
    Overflow,
    /// The agent ended it as it wished.
    Clean,
    /// The connection broke.
    Broken,
}

/// The output that comes over an attachment. Dropping it closes the connection, as soon as what has
/// been sent is answered.
#[derive(Debug)]
pub(crate) struct Events {
    attachment: Rc<Attachment>,
    receiver: UnboundedReceiver<Arrival>,
    _reading: oneshot::Sender<()>,
}

/// A piece of output, and its size on the way.
type Arrival = (std::result::Result<ExecStdout, Break>, usize);

impl Attachment {
    /// Connects, until `cancel` says otherwise. None where the way is not open to WebSockets.
    pub(crate) async fn open(address: &str, url: &str, cancel: Cancel) -> Option<Events> {
        let closing = Abort::listen(cancel.signal());
        let (socket, incoming) = Socket::open(address).await?;
        let attachment = Rc::new(Self {
            socket,
            url: url.to_owned(),
            next_id: Cell::default(),
            unanswered: RefCell::default(),
            unread: Cell::default(),
            ended: Cell::default(),
        });
        let (sender, receiver) = unbounded();
        let (reading, left) = oneshot::channel();
        let attendant = Attendant { attachment: attachment.clone(), events: Some(sender) };
        spawn_local(async move {
            attendant.attend(incoming, closing, left).await;
            drop(cancel);
        });
        Some(Events { attachment, receiver, _reading: reading })
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
        let answer = self.send(frame)?;
        // The sender is dropped with the connection.
        answer.await.unwrap_or_else(|_| Err(self.broken(false)))
    }

    fn send(&self, frame: ClientFrame) -> Result<oneshot::Receiver<Result<()>>> {
        let id = self.next_id.get();
        self.next_id.set(id.wrapping_add(1));
        let message = ClientMessage { frame, id: Some(id) };
        let text = json::to_string(&message);
        let (tell, answer) = oneshot::channel();
        self.unanswered.borrow_mut().push((id, tell));
        if self.socket.send(&text) {
            return Ok(answer);
        }
        drop(self.no_longer_unanswered(id));
        Err(self.broken(true))
    }

    fn broken(&self, never_sent: bool) -> Box<Error> {
        let reason = "the WebSocket broke before the agent answered";
        Box::new(Error::Network {
            operation: Operation::SendStdin,
            url: self.url.clone(),
            reason: reason.to_owned(),
            never_sent,
            cause: None,
        })
    }

    fn no_longer_unanswered(&self, id: u32) -> Option<oneshot::Sender<Result<()>>> {
        let mut unanswered = self.unanswered.borrow_mut();
        let place = unanswered.iter().position(|(other, _)| *other == id)?;
        Some(unanswered.remove(place).1)
    }

    fn answered(&self, id: u32, answer: Result<()>) {
        if let Some(waiting) = self.no_longer_unanswered(id) {
            // It may not be waiting any more.
            waiting.send(answer).unwrap_or_default();
        }
    }
}

impl Events {
    /// The next piece of output and all that have come by now; None at the end.
    pub(crate) async fn next(&mut self) -> Option<Vec<std::result::Result<ExecStdout, Break>>> {
        let mut arrivals = vec![self.receiver.next().await?];
        while let Ok(arrival) = self.receiver.try_recv() {
            arrivals.push(arrival);
        }
        let unread = &self.attachment.unread;
        let events = arrivals.into_iter().map(|(event, size)| {
            unread.set(unread.get().saturating_sub(size));
            event
        });
        Some(events.collect())
    }

    /// Why there are no more.
    pub(crate) fn ended(&self) -> Ended {
        self.attachment.ended.get().unwrap_or(Ended::Broken)
    }

    pub(crate) fn attachment(&self) -> &Rc<Attachment> {
        &self.attachment
    }
}

/// Takes what comes over a connection, as long as there is one.
struct Attendant {
    attachment: Rc<Attachment>,
    /// None once nobody takes output any more: what is still to come are answers.
    events: Option<UnboundedSender<Arrival>>,
}

impl Attendant {
    async fn attend(
        mut self,
        mut incoming: UnboundedReceiver<Incoming>,
        mut closing: Abort,
        left: oneshot::Receiver<()>,
    ) {
        // It resolves when its sender is dropped.
        let mut left = left.fuse();
        let mut silences = 0;
        while self.is_needed() {
            let (aborted, silence) = (pin!(closing.aborted()), pin!(sleep(PING)));
            let asked = select(aborted, &mut left);
            let happened = select(incoming.next(), silence);
            match select(asked, happened).await {
                Either::Left((Either::Left(_), _))
                | Either::Right((Either::Left((None, _)), _)) => break,
                Either::Left((Either::Right(_), _)) => self.stop_output(Ended::Overflow),
                Either::Right((Either::Left((Some(Incoming::Frame(text)), _)), _)) => {
                    silences = 0;
                    self.take(text.as_deref());
                }
                Either::Right((Either::Left((Some(Incoming::Open), _)), _)) => {}
                Either::Right((Either::Left((Some(Incoming::End { clean }), _)), _)) => {
                    self.stop_output(if clean { Ended::Clean } else { Ended::Broken });
                    break;
                }
                Either::Right((Either::Right(_), _)) => {
                    silences += 1;
                    // Every frame is a sign of life; the answer itself is nobody's.
                    let pinged = self.attachment.send(ClientFrame::Ping);
                    if silences > MOST_SILENCES || pinged.is_err() {
                        break;
                    }
                }
            }
        }
        self.stop_output(Ended::Broken);
        self.attachment.socket.close();
        self.attachment.unanswered.take();
    }

    /// Whether anything that may come is of use to anyone.
    fn is_needed(&self) -> bool {
        let is_awaited = |(_, answer): &(u32, oneshot::Sender<_>)| !answer.is_canceled();
        self.events.is_some() || self.attachment.unanswered.borrow().iter().any(is_awaited)
    }

    fn stop_output(&mut self, ended: Ended) {
        if self.events.take().is_some() {
            self.attachment.ended.set(Some(ended));
        }
    }

    fn take(&mut self, text: Option<&str>) {
        let event = match read(text) {
            Ok(Frame::Answer { id, answer }) => return self.attachment.answered(id, answer),
            Ok(Frame::Remark) => return,
            Ok(Frame::Event(event)) => Ok(event),
            Err(broken) => Err(broken),
        };
        let Some(events) = &self.events else {
            return;
        };
        let size = text.map_or(0, str::len);
        let unread = self.attachment.unread.get() + size;
        self.attachment.unread.set(unread);
        if unread > MOST_UNREAD || events.unbounded_send((event, size)).is_err() {
            self.stop_output(Ended::Overflow);
        }
    }
}

/// What a frame of the agent's says.
#[derive(Clone, Debug)]
pub(super) enum Frame {
    Event(ExecStdout),
    Answer {
        id: u32,
        answer: Result<()>,
    },
    /// Events that are lost: the jump in their numbers says the same.
    Remark,
}

pub(super) fn read(text: Option<&str>) -> std::result::Result<Frame, Break> {
    let text = text.ok_or_else(|| Break::protocol("a frame is no text", &[]))?;
    let unreadable = |problem: &str| {
        Break::protocol(&format!("a frame is not what it should be: {problem}"), text.as_bytes())
    };
    let unnumbered = || unreadable("it has no sequence number");
    let frame = json::read(text.as_bytes()).map_err(|problem| unreadable(&problem.to_string()))?;
    Ok(match frame {
        AgentFrame::Output { output, stream, sequence, timestamp } => Frame::Event(ExecStdout {
            kind: stream,
            output,
            sequence: sequence.ok_or_else(unnumbered)?,
            timestamp,
            exit_code: None,
        }),
        AgentFrame::Exit { exit_code, sequence, timestamp } => Frame::Event(ExecStdout {
            kind: sandpipe_protocol::OutputType::Stdout,
            output: String::new(),
            sequence: sequence.ok_or_else(unnumbered)?,
            timestamp,
            exit_code: Some(exit_code),
        }),
        AgentFrame::Done { id } => Frame::Answer { id, answer: Ok(()) },
        AgentFrame::Error { id: None, .. } => Frame::Remark,
        AgentFrame::Error { error, id: Some(id), code } => Frame::Answer {
            id,
            answer: Err(Error::Http {
                operation: Operation::SendStdin,
                status: code.unwrap_or(400),
                body: error.clone(),
                message: Some(error),
                retry_after_ms: None,
                max_delay_ms: None,
            }
            .into()),
        },
    })
}
