//! Execs by WebSocket.

use futures_util::{SinkExt, StreamExt};
use sandpipe_protocol::websocket::{AgentFrame, ClientFrame};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use crate::support::{ADMIN, Agent, READONLY, lives, within};

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(agent: &Agent, id: &str, query: &str) -> Self {
        let url = format!("{}/ws/v1/execs/{id}{query}", agent.url.replace("http://", "ws://"));
        Self(within(connect_async(url)).await.unwrap().0)
    }

    async fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    async fn input(&mut self, input: &str) {
        let frame = ClientFrame::Input { input: input.into() };
        self.send(&serde_json::to_string(&frame).unwrap()).await;
    }

    /// The next frame; the close code at the end.
    pub(crate) async fn next(&mut self) -> Result<AgentFrame, Option<CloseCode>> {
        loop {
            match within(self.0.next()).await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(close))) => return Err(close.map(|close| close.code)),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    async fn until_output(&mut self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            match self.next().await {
                Ok(AgentFrame::Output { output, .. }) => all += &output,
                other => panic!("{other:?} came before {text:?}"),
            }
        }
        all
    }

    async fn error(&mut self) -> String {
        match self.next().await {
            Ok(AgentFrame::Error { error }) => error,
            other => panic!("{other:?} is no error"),
        }
    }
}

fn token(token: &str) -> String {
    format!("?token={token}")
}

#[tokio::test]
async fn output_input_and_the_exit_code_go_through_it() {
    let agent = Agent::start();
    let exec = agent.sh("echo before; read x; echo got $x; echo err >&2; exit 4").await;
    agent.stream(&exec.id, "").await.until_output("before\n").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.until_output("before\n").await;
    socket.input("this\n").await;
    socket.until_output("got this\n").await;
    let err = AgentFrame::Output {
        output: "err\n".into(),
        stream: sandpipe_protocol::OutputType::Stderr,
    };
    assert_eq!(socket.next().await, Ok(err));
    assert_eq!(socket.next().await, Ok(AgentFrame::Exit { exit_code: 4 }));
    assert_eq!(socket.next().await, Err(Some(CloseCode::Normal)));
    // Also after the exit, and from a certain event on.
    let mut late =
        Socket::open(&agent, &exec.id, &format!("{}&lastSequence=-2", token(ADMIN))).await;
    late.until_output("err\n").await;
    assert_eq!(late.next().await, Ok(AgentFrame::Exit { exit_code: 4 }));
}

#[tokio::test]
async fn a_terminal_is_resized_and_typed_into() {
    let agent = Agent::start();
    let script = "read x; stty size; exit 0";
    let exec = agent.create(json!({ "command": "sh", "args": ["-c", script], "pty": true })).await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.send("{\"type\":\"resize\",\"data\":{\"cols\":100,\"rows\":30}}").await;
    socket.input("\n").await;
    socket.until_output("30 100\r\n").await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Exit { exit_code: 0 }));
}

#[tokio::test]
async fn a_frame_that_cant_be_obeyed_is_told_and_the_connection_stays() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    for wrong in ["", "nonsense", "{\"type\":\"nope\"}", "{\"type\":\"input\"}"] {
        socket.send(wrong).await;
        assert!(socket.error().await.contains("frame"));
    }
    socket.send("{\"type\":\"resize\",\"data\":{\"cols\":1,\"rows\":1}}").await;
    assert!(socket.error().await.contains("terminal"));
    socket.0.send(Message::binary(vec![1, 2])).await.unwrap();
    assert!(socket.error().await.contains("text"));
    socket.input("still here\n").await;
    socket.until_output("still here\n").await;
}

#[tokio::test]
async fn output_goes_on_while_input_waits_for_the_process() {
    let agent = Agent::start();
    let exec = agent.sh("i=0; while [ $i -lt 20 ]; do echo $i; i=$((i+1)); sleep 0.02; done").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.input(&"x".repeat(1_000_000)).await;
    socket.until_output("\n19\n").await;
}

#[tokio::test]
async fn a_read_only_token_watches() {
    let agent = Agent::start();
    let exec = agent.sh("echo seen; read x; exit 1").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(READONLY)).await;
    socket.until_output("seen\n").await;
    socket.input("\n").await;
    assert!(socket.error().await.contains("read-only"));
    assert!(lives(exec.pid));
    agent.write(&exec.id, "\n").await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Exit { exit_code: 1 }));
}

#[tokio::test]
async fn the_token_goes_in_the_header_or_the_query() {
    let agent = Agent::start();
    let exec = agent.sh("true").await;
    let url = format!("{}/ws/v1/execs/{}", agent.url.replace("http://", "ws://"), exec.id);
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {ADMIN}").parse().unwrap());
    connect_async(request).await.unwrap();
    for query in ["", "?token=wrong", "?token="] {
        match connect_async(format!("{url}{query}")).await {
            Err(Error::Http(response)) => assert_eq!(response.status(), 401),
            _ => panic!("it was let in with {query:?}"),
        }
    }
}

#[tokio::test]
async fn a_client_that_closes_is_answered() {
    let agent = Agent::start();
    let exec = agent.sh("sleep 60").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    socket.0.send(Message::Close(Some(close))).await.unwrap();
    assert_eq!(socket.next().await, Err(Some(CloseCode::Normal)));
    assert!(lives(exec.pid));
}

#[tokio::test]
async fn leaving_does_not_stop_the_process_and_deleting_it_ends_the_connection() {
    let agent = Agent::start();
    let exec = agent.sh("echo up; sleep 60").await;
    drop(Socket::open(&agent, &exec.id, &token(ADMIN)).await);
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.until_output("up\n").await;
    assert!(lives(exec.pid));
    agent.delete(&exec.id).await;
    assert_eq!(socket.next().await, Err(Some(CloseCode::Away)));
}
