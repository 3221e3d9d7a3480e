use std::{io, sync::Arc, time::Duration};

use axum::{
    Extension,
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code, rejection::WebSocketUpgradeRejection},
    },
    response::Response,
};
use futures_util::{SinkExt, StreamExt, stream::SplitSink, stream::SplitStream};
use sandpipe_protocol::{
    ExecStdout,
    websocket::{AgentFrame, ClientFrame},
};
use tokio::{
    sync::mpsc,
    time::{interval, timeout},
};

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec},
};
use crate::{
    execs::Exec,
    features::Feature,
    http::{
        App,
        body::MAX_BODY,
        error::{ApiError, lost},
    },
    output::{Chunk, Frames, Next, StartAfter},
    token::Role,
};

/// How often a ping goes out: proxies close a connection that is silent for long.
const PING: Duration = Duration::from_secs(15);
/// How long the client may take to close its side.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);

/// Use an exec by WebSocket: its output from the beginning, its input, and its exit code.
///
/// The token may also be given as the query's `token`. A read-only token may watch.
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
    Extension(role): Extension<Role>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade
        .map_err(|rejection| ApiError::new(rejection.status(), rejection.body_text()))?
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY);
    let tells_gaps = app.features.has(Feature::Gap);
    Ok(upgrade.on_upgrade(async move |socket| {
        let frames = Frames::follow(exec.spool(), start);
        connect(socket, exec, Output { frames, tells_gaps }, role).await;
    }))
}

async fn connect(socket: WebSocket, exec: Arc<Exec>, output: Output, role: Role) {
    let (mut sink, mut stream) = socket.split();
    let (errors, refused) = mpsc::channel(16);
    // Input may have to wait for the process; output must not wait for it.
    let outcome = tokio::select! {
        outcome = send(&mut sink, output, refused) => outcome,
        () = receive(&mut stream, &exec, role, errors) => {
            // RFC 6455, 5.5.1: a close frame is answered with one. Reading on sends it.
            let _closed = timeout(CLOSE_PATIENCE, drain(&mut stream)).await;
            return;
        }
    };
    let close = match outcome {
        Ok(End::Exited) => {
            CloseFrame { code: close_code::NORMAL, reason: "the process has ended".into() }
        }
        Ok(End::Closed) => CloseFrame {
            code: close_code::AWAY,
            reason: "the exec was deleted, or the agent stops".into(),
        },
        Err(error) => {
            tracing::debug!(%error, "a WebSocket was cut");
            return;
        }
    };
    // RFC 6455, 7.1.1: the server closes the connection after the client's close frame has come.
    let _closed = timeout(CLOSE_PATIENCE, async {
        sink.send(Message::Close(Some(close))).await?;
        drain(&mut stream).await;
        Ok::<_, axum::Error>(())
    })
    .await;
}

/// Reads to the end of the connection.
async fn drain(stream: &mut SplitStream<WebSocket>) {
    while let Some(Ok(_)) = stream.next().await {}
}

struct Output {
    frames: Frames,
    tells_gaps: bool,
}

/// Why nothing more is sent.
enum End {
    Exited,
    /// The output ended without an exit code.
    Closed,
}

async fn send(
    sink: &mut SplitSink<WebSocket, Message>,
    mut output: Output,
    mut refused: mpsc::Receiver<String>,
) -> io::Result<End> {
    let mut ping = interval(PING);
    loop {
        tokio::select! {
            next = output.frames.next() => match next? {
                None => return Ok(End::Closed),
                Some(Next::Events(chunk)) => {
                    if send_output(sink, &chunk).await? {
                        return Ok(End::Exited);
                    }
                }
                Some(Next::Gap(gap)) if output.tells_gaps => {
                    send_frame(sink, &AgentFrame::Error { error: lost(gap) }).await?;
                }
                Some(Next::Gap(_)) => {}
            },
            Some(error) = refused.recv() => send_frame(sink, &AgentFrame::Error { error }).await?,
            _ = ping.tick() => {
                sink.send(Message::Ping(Vec::new().into())).await.map_err(io::Error::other)?;
            }
        }
    }
}

/// Sends events; says whether the last one, with the exit code, was among them.
async fn send_output(sink: &mut SplitSink<WebSocket, Message>, chunk: &Chunk) -> io::Result<bool> {
    for event in chunk.events() {
        let event: ExecStdout = serde_json::from_slice(event)?;
        if !event.output.is_empty() {
            let frame = AgentFrame::Output { output: event.output, stream: event.kind };
            send_frame(sink, &frame).await?;
        }
        if let Some(exit_code) = event.exit_code {
            send_frame(sink, &AgentFrame::Exit { exit_code }).await?;
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

/// Obeys the client's frames until it closes the connection. What can't be obeyed is told, and the
/// connection stays.
async fn receive(
    stream: &mut SplitStream<WebSocket>,
    exec: &Exec,
    role: Role,
    errors: mpsc::Sender<String>,
) {
    while let Some(Ok(message)) = stream.next().await {
        let result = match message {
            Message::Text(text) => obey(&text, exec, role).await,
            Message::Binary(_) => Err("a frame must be text".to_owned()),
            Message::Close(_) => return,
            Message::Ping(_) | Message::Pong(_) => Ok(()),
        };
        if let Err(error) = result
            && errors.send(error).await.is_err()
        {
            return;
        }
    }
}

async fn obey(text: &str, exec: &Exec, role: Role) -> Result<(), String> {
    if role == Role::ReadOnly {
        return Err("the token is read-only: it may watch, not write".into());
    }
    let frame = serde_json::from_str(text)
        .map_err(|error| format!("a frame is not one of input and resize: {error}"))?;
    match frame {
        ClientFrame::Input { input } => exec.write(input.into_bytes()).await,
        ClientFrame::Resize(size) => exec.resize(size),
    }
    .map_err(|error| error.to_string())
}
