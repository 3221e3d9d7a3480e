use std::{io, pin::pin, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures_util::{SinkExt, StreamExt, stream::SplitSink, stream::SplitStream};
use sandpipe_protocol::websocket::{AgentFrame, ClientFrame, ClientMessage};
use serde::Deserialize;
use tokio::{
    sync::mpsc,
    task::yield_now,
    time::{interval, timeout},
};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec},
};
use crate::{
    execs::{Exec, Queued},
    features::Feature,
    http::{
        App,
        body::MAX_BODY,
        error::{ApiError, lost},
    },
    output::{EventReader, ReadEvents, StartAfter, TextEvent},
    tokens::{Access, Need},
};

/// How often a ping goes out: proxies close a connection that is silent for long.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// How long the client may take to answer the last ping, and then to close its side.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);
/// What the last ping carries, and its pong: those that go out before are empty.
const LAST_PING: &[u8] = b"last";

/// Use an exec by WebSocket: its output from the beginning, its input, and its exit code.
///
/// The token may also be given as the query's `token`. A read-only token may watch, and so may a scoped one that may read the exec and not type into it.
#[utoipa::path(
    get,
    path = "/ws/v1/execs/{id}",
    operation_id = "connectToExecWebSocket",
    tag = "execs",
    security(("bearerAuth" = []), ("queryToken" = [])),
    params(
        ("id" = String, Path, description = "The exec's identifier"),
        (
            "lastSequence" = Option<i64>, Query,
            description = "Only the output after this event; with -N, the last N events and what follows"
        ),
    ),
    responses(
        (status = 101, description = "The connection is a WebSocket now"),
        ApiErrors, NoExec, Failed,
    )
)]
pub(crate) async fn connect_to_exec(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    start: StartAfter,
    Extension(access): Extension<Access>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade
        .map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))?
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY);
    let sends_gaps = app.features.has(Feature::Gap);
    let extended = app.features.has(Feature::Attach);
    let spool = Arc::clone(exec.output().await.map_err(ApiError::internal)?);
    Ok(upgrade.on_upgrade(async move |socket| {
        let events = EventReader::follow(&spool, start);
        let output = SocketOutput { events, sends_gaps, extended };
        connect(socket, output, FrameHandler { exec, access, extended }).await;
    }))
}

async fn connect(socket: WebSocket, output: SocketOutput, handler: FrameHandler) {
    let (mut sink, mut stream) = socket.split();
    let end = tokio::select! {
        biased;
        () = handler.access.ended() => Ok(CloseReason::TokenEnded),
        end = exchange(&mut sink, &mut stream, output, &handler) => end,
    };
    let close = match end {
        Ok(CloseReason::Exited) => {
            CloseFrame { code: close_code::NORMAL, reason: "the process has ended".into() }
        }
        Ok(CloseReason::Closed) => CloseFrame {
            code: close_code::AWAY,
            reason: "the exec was deleted, or the agent stops".into(),
        },
        Ok(CloseReason::TokenEnded) => CloseFrame {
            code: close_code::POLICY,
            reason: "the token has expired or was revoked".into(),
        },
        Ok(CloseReason::ClientLeft) => {
            // RFC 6455, 5.5.1: a close frame is answered with one. Reading on sends it.
            let _closed = timeout(CLOSE_TIMEOUT, drain(&mut stream)).await;
            return;
        }
        Err(error) => {
            tracing::debug!(%error, "a WebSocket was cut");
            return;
        }
    };
    // RFC 6455, 7.1.1: the server closes the connection after the client's close frame has come.
    let _closed = timeout(CLOSE_TIMEOUT, async {
        sink.send(Message::Close(Some(close))).await?;
        drain(&mut stream).await;
        Ok::<_, axum::Error>(())
    })
    .await;
}

/// Sends output and handles frames until one side is at its end.
async fn exchange(
    sink: &mut SplitSink<WebSocket, Message>,
    stream: &mut SplitStream<WebSocket>,
    output: SocketOutput,
    handler: &FrameHandler,
) -> io::Result<CloseReason> {
    let (frames, mut answered) = mpsc::channel(16);
    let answers = AnswerSender { frames, extended: output.extended };
    let mut receiving = pin!(receive(stream, handler, answers));
    let end = tokio::select! {
        end = send(sink, output, &mut answered) => end?,
        () = receiving.as_mut() => return Ok(CloseReason::ClientLeft),
    };
    // What the client sent before it could know of the end is answered too: it has come when the
    // pong has (RFC 6455, 5.5.3). After the close frame nothing may be sent (5.5.1).
    let rest = async {
        sink.send(Message::Ping(LAST_PING.into())).await.map_err(io::Error::other)?;
        let answering = async {
            while let Some(answer) = answered.recv().await {
                send_frame(sink, &answer).await?;
            }
            Ok::<_, io::Error>(())
        };
        tokio::join!(receiving, answering).1
    };
    timeout(CLOSE_TIMEOUT, rest).await.unwrap_or(Ok(()))?;
    Ok(end)
}

/// Reads to the end of the connection.
async fn drain(stream: &mut SplitStream<WebSocket>) {
    while let Some(Ok(_)) = stream.next().await {}
}

struct SocketOutput {
    events: EventReader,
    sends_gaps: bool,
    /// The feature `attach`.
    extended: bool,
}

/// Why the WebSocket is closed.
enum CloseReason {
    Exited,
    /// The output ended without an exit code.
    Closed,
    /// The token has expired or was revoked.
    TokenEnded,
    /// The client has closed the connection, or is gone.
    ClientLeft,
}

async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    mut output: SocketOutput,
    answers: &mut mpsc::Receiver<AgentFrame>,
) -> io::Result<CloseReason> {
    let mut ping = interval(PING_INTERVAL);
    loop {
        let mut frames = Vec::new();
        tokio::select! {
            read = output.events.next(|event| frames.push(to_frame(event, output.extended))) => match read? {
                None => return Ok(CloseReason::Closed),
                Some(ReadEvents::Events) => {
                    if send_output(sink, frames).await? {
                        return Ok(CloseReason::Exited);
                    }
                }
                Some(ReadEvents::Gap(gap)) if output.sends_gaps => {
                    let frame = AgentFrame::Error {
                        error: lost(gap, output.events.failure()),
                        id: None,
                        code: None,
                    };
                    send_frame(sink, &frame).await?;
                }
                Some(ReadEvents::Gap(_)) => {}
            },
            Some(answer) = answers.recv() => send_frame(sink, &answer).await?,
            _ = ping.tick() => {
                sink.send(Message::Ping(Vec::new().into())).await.map_err(io::Error::other)?;
            }
        }
    }
}

/// What an event is sent as.
fn to_frame(event: &TextEvent<'_>, extended: bool) -> AgentFrame {
    let sequence = extended.then_some(event.sequence);
    let timestamp = extended.then(|| event.time.to_string());
    // The event with the exit code has no output.
    if let Some(exit_code) = event.exit_code {
        return AgentFrame::Exit { exit_code, sequence, timestamp };
    }
    let output = event.text.clone().into_owned();
    AgentFrame::Output { output, stream: event.kind, sequence, timestamp }
}

/// Sends events; returns whether the last one, with the exit code, was among them.
async fn send_output(
    sink: &mut SplitSink<WebSocket, Message>,
    frames: Vec<AgentFrame>,
) -> io::Result<bool> {
    for frame in frames {
        send_frame(sink, &frame).await?;
        if matches!(frame, AgentFrame::Exit { .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn send_frame(
    sink: &mut SplitSink<WebSocket, Message>,
    frame: &AgentFrame,
) -> io::Result<()> {
    let text = serde_json::to_string(frame)?;
    let message = Message::Text(text.into());
    sink.send(message).await.map_err(io::Error::other)
}

/// Does what the client's frames ask of an exec.
struct FrameHandler {
    exec: Arc<Exec>,
    access: Access,
    /// The feature `attach`.
    extended: bool,
}

/// Handles the client's frames until it closes the connection or has answered the last ping. What can't
/// be done is answered with an error, and the connection stays.
///
/// Input only gets its place here: while it waits for the process what follows it is read, and it is
/// delivered also when the client leaves. Where there is no room for more, it is refused if it asks
/// for an answer. A client that does not would not know what is missing: its connection waits.
async fn receive(
    stream: &mut SplitStream<WebSocket>,
    handler: &FrameHandler,
    answers: AnswerSender,
) {
    let (queued, waiting) = mpsc::unbounded_channel();
    tokio::spawn(answer_input(waiting, answers.clone()));
    while let Some(Ok(message)) = stream.next().await {
        let (id, outcome) = match message {
            Message::Text(text) => handler.handle(&text).await,
            Message::Binary(_) => (None, Err(ApiError::bad_request("a frame must be text"))),
            Message::Pong(payload) if payload == LAST_PING => return,
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => continue,
        };
        let is_sent = match outcome {
            Ok(Handled::Queued(input)) => {
                let is_sent = queued.send((id, input)).is_ok();
                // Others get their turn: reading must not run ahead of what writes and answers, and
                // find no room although the process reads.
                yield_now().await;
                is_sent
            }
            Ok(Handled::Done) => answers.send(id, Ok(())).await,
            Err(error) => answers.send(id, Err(error)).await,
        };
        if !is_sent {
            return;
        }
    }
}

/// Answers what becomes of input, until nobody is there to get it.
///
/// What waits here has its room in the exec's queue, so it is bounded.
async fn answer_input(
    mut waiting: mpsc::UnboundedReceiver<(Option<u32>, Queued)>,
    answers: AnswerSender,
) {
    while let Some((id, input)) = waiting.recv().await {
        let outcome = tokio::select! {
            outcome = input.taken() => outcome.map_err(ApiError::from),
            () = answers.frames.closed() => return,
        };
        if !answers.send(id, outcome).await {
            return;
        }
    }
}

/// Sends answers to the client.
#[derive(Clone)]
struct AnswerSender {
    frames: mpsc::Sender<AgentFrame>,
    /// The feature `attach`.
    extended: bool,
}

impl AnswerSender {
    /// Answers what became of a frame; returns whether anyone is there to get it.
    async fn send(&self, id: Option<u32>, outcome: Result<(), ApiError>) -> bool {
        let answer = match (outcome, id) {
            (Ok(()), None) => return true,
            (Ok(()), Some(id)) => AgentFrame::Done { id },
            (Err(error), id) => {
                let code = self.extended.then_some(error.status().as_u16());
                AgentFrame::Error { error: error.into_message(), id, code }
            }
        };
        self.frames.send(answer).await.is_ok()
    }
}

/// What became of a frame.
enum Handled {
    Done,
    /// Whether the process takes it will be seen.
    Queued(Queued),
}

impl FrameHandler {
    /// Handles a frame; also returns the number that it is to be answered with.
    async fn handle(&self, text: &str) -> (Option<u32>, Result<Handled, ApiError>) {
        match serde_json::from_str(text) {
            Ok(ClientMessage { frame, id }) => {
                let id = id.filter(|_| self.extended);
                (id, self.execute(frame, id.is_some()).await)
            }
            Err(error) => {
                let error = format!("a frame is not one of input, resize and ping: {error}");
                let id = id_of(text).filter(|_| self.extended);
                (id, Err(ApiError::bad_request(error)))
            }
        }
    }

    async fn execute(&self, frame: ClientFrame, answered: bool) -> Result<Handled, ApiError> {
        if !matches!(frame, ClientFrame::Ping) {
            self.access.check_exec(Need::TypeIntoExec, self.exec.named())?;
        }
        match frame {
            ClientFrame::Input { input } => {
                let bytes = input.into_bytes();
                let queued = if answered {
                    self.exec.write(bytes)
                } else {
                    self.exec.write_when_there_is_room(bytes).await
                };
                return Ok(Handled::Queued(queued?));
            }
            ClientFrame::Resize(size) => self.exec.resize(size)?,
            ClientFrame::Ping => {}
        }
        Ok(Handled::Done)
    }
}

/// The number of a frame that is not as it should be otherwise.
pub(in crate::http) fn id_of(text: &str) -> Option<u32> {
    #[derive(Deserialize)]
    struct Numbered {
        id: u32,
    }
    serde_json::from_str(text).ok().map(|Numbered { id }| id)
}
