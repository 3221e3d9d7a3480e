//! Execs by WebSocket.

use std::collections::BTreeSet;

use futures_util::{SinkExt, StreamExt};
use sandpipe_protocol::{
    OutputType,
    websocket::{AgentFrame, ClientFrame, ClientMessage},
};
use serde_json::json;
use tempfile::NamedTempFile;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        protocol::{CloseFrame, frame::coding::CloseCode},
    },
};

use crate::{
    input::{until_pipe_is_full, waiting_for},
    support::{ADMIN, Agent, READONLY, lives, within},
};

pub(crate) struct Socket(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    pub(crate) async fn open(agent: &Agent, id: &str, query: &str) -> Self {
        let url = format!("{}/ws/v1/execs/{id}{query}", agent.url.replace("http://", "ws://"));
        Self(within(connect_async(url)).await.unwrap().0)
    }

    async fn send(&mut self, text: &str) {
        within(self.0.send(Message::text(text))).await.unwrap();
    }

    /// Sends frames in as few packets as they take.
    async fn send_at_once(&mut self, frames: impl IntoIterator<Item = String>) {
        for frame in frames {
            self.0.feed(Message::text(frame)).await.unwrap();
        }
        self.0.flush().await.unwrap();
    }

    pub(crate) async fn input(&mut self, input: &str) {
        let frame = ClientMessage { frame: ClientFrame::Input { input: input.into() }, id: None };
        self.send(&serde_json::to_string(&frame).unwrap()).await;
    }

    /// The next frame; the close code at the end.
    pub(crate) async fn next(&mut self) -> Result<AgentFrame, Option<CloseCode>> {
        let next = async {
            loop {
                match self.0.next().await {
                    Some(Ok(Message::Text(text))) => {
                        return Ok(serde_json::from_str(&text).unwrap());
                    }
                    Some(Ok(Message::Close(close))) => return Err(close.map(|close| close.code)),
                    Some(Ok(_)) => {}
                    Some(Err(_)) | None => return Err(None),
                }
            }
        };
        within(next).await
    }

    pub(crate) async fn until_output(&mut self, text: &str) -> String {
        let mut all = String::new();
        while !all.contains(text) {
            match self.next().await {
                Ok(AgentFrame::Output { output, .. }) => all += &output,
                other => panic!("{other:?} came before {text:?}"),
            }
        }
        all
    }

    async fn exit_code(&mut self) -> i32 {
        match self.next().await {
            Ok(AgentFrame::Exit { exit_code, .. }) => exit_code,
            other => panic!("{other:?} is no exit code"),
        }
    }

    pub(crate) async fn error(&mut self) -> String {
        match self.next().await {
            Ok(AgentFrame::Error { error, .. }) => error,
            other => panic!("{other:?} is no error"),
        }
    }
}

/// An input frame with an id.
fn input(id: u32, input: &str) -> String {
    json!({ "type": "input", "data": { "input": input }, "id": id }).to_string()
}

fn token(token: &str) -> String {
    format!("?token={token}")
}

#[tokio::test]
async fn pages_of_other_origins_open_none() {
    let open = async |agent: &Agent, origin: Option<&str>| {
        let exec = agent.sh("true").await;
        let port = agent.url.rsplit(':').next().unwrap();
        for path in [format!("execs/{}", exec.id), format!("ports/{port}")] {
            let url =
                format!("{}/ws/v1/{path}?token={ADMIN}", agent.url.replace("http://", "ws://"));
            let mut request = url.into_client_request().unwrap();
            if let Some(origin) = origin {
                request.headers_mut().insert("origin", origin.parse().unwrap());
            }
            match within(connect_async(request)).await {
                Ok(_) => {}
                Err(Error::Http(response)) => {
                    let body = response.body().as_deref().unwrap_or_default();
                    return Err((
                        response.status().as_u16(),
                        String::from_utf8_lossy(body).into_owned(),
                    ));
                }
                Err(error) => panic!("{error}"),
            }
        }
        Ok(())
    };
    let agent = Agent::with_args(&["--allow-origin", "https://a.example"]);
    for origin in [None, Some(agent.url.as_str()), Some("https://a.example")] {
        assert_eq!(open(&agent, origin).await, Ok(()), "{origin:?}");
    }
    for origin in ["https://evil.example", "http://127.0.0.1:1", "null"] {
        let (status, message) = open(&agent, Some(origin)).await.unwrap_err();
        assert_eq!(status, 403, "{origin}");
        assert!(message.contains(&format!("--allow-origin {origin}")), "{message}");
    }
    let agent = Agent::with_args(&["--allow-origin", "*"]);
    assert_eq!(open(&agent, Some("https://b.example")).await, Ok(()));
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
    match socket.next().await {
        Ok(AgentFrame::Output { output, stream: OutputType::Stderr, .. }) => {
            assert_eq!(output, "err\n");
        }
        other => panic!("{other:?} is no output of stderr"),
    }
    assert_eq!(socket.exit_code().await, 4);
    assert_eq!(socket.next().await, Err(Some(CloseCode::Normal)));
    // Also after the exit, and from a certain event on.
    let mut late =
        Socket::open(&agent, &exec.id, &format!("{}&lastSequence=-2", token(ADMIN))).await;
    late.until_output("err\n").await;
    assert_eq!(late.exit_code().await, 4);
}

#[tokio::test]
async fn a_terminal_is_resized_and_typed_into() {
    let agent = Agent::start();
    let exec = agent.sh_in_terminal("read x; stty size; exit 0").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.send("{\"type\":\"resize\",\"data\":{\"cols\":100,\"rows\":30}}").await;
    socket.input("\n").await;
    socket.until_output("30 100\r\n").await;
    assert_eq!(socket.exit_code().await, 0);
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
    // It does not end: that would be an error of the input, which may come before the last output.
    let script =
        "i=0; while [ $i -lt 20 ]; do echo $i; i=$((i+1)); sleep 0.02; done; exec sleep 600";
    let exec = agent.sh(script).await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.input(&"x".repeat(1_000_000)).await;
    socket.until_output("\n19\n").await;
}

#[tokio::test]
async fn output_is_numbered_and_goes_on_after_any_number() {
    let agent = Agent::start();
    let exec = agent.sh("echo 1; read x; echo 2; read x; exit 7").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    for number in [1, 2] {
        match socket.next().await {
            Ok(AgentFrame::Output { output, sequence, timestamp: Some(_), .. }) => {
                assert_eq!((output, sequence), (format!("{number}\n"), Some(number)));
            }
            other => panic!("{other:?} is no numbered output"),
        }
        socket.input("\n").await;
    }
    // As the stream has it.
    let last = agent.finish(&exec.id).await.0.remove(2);
    assert!(last.timestamp.is_some());
    let exit = AgentFrame::Exit { exit_code: 7, sequence: Some(3), timestamp: last.timestamp };
    assert_eq!(socket.next().await, Ok(exit.clone()));
    let query = format!("{}&lastSequence=2", token(ADMIN));
    assert_eq!(Socket::open(&agent, &exec.id, &query).await.next().await, Ok(exit));
}

#[tokio::test]
async fn a_frame_with_an_id_is_answered_and_a_ping_also_while_input_waits() {
    let agent = Agent::start();
    let exec = agent.sh("trap exit TERM; while :; do sleep 0.05; done").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.send(&input(1, "taken")).await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Done { id: 1 }));
    socket.send("{\"type\":\"resize\",\"data\":{\"cols\":1,\"rows\":1},\"id\":2}").await;
    match socket.next().await {
        Ok(AgentFrame::Error { id: Some(2), code: Some(400), error }) => {
            assert!(error.contains("terminal"), "{error}");
        }
        other => panic!("{other:?} is no error of frame 2"),
    }
    // More than a pipe takes: it waits for a reader that never comes.
    socket.send(&input(3, &"x".repeat(1_000_000))).await;
    socket.send("{\"type\":\"ping\",\"id\":4}").await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Done { id: 4 }));
}

#[tokio::test]
async fn what_was_sent_before_the_end_was_known_is_answered() {
    let agent = Agent::start();
    for _ in 0..10 {
        let exec = agent.sh_in_terminal("read x").await;
        let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
        let resize = |id| format!(r#"{{"type":"resize","data":{{"cols":9,"rows":9}},"id":{id}}}"#);
        let more = (2..=200).map(|id| if id % 2 == 0 { resize(id) } else { input(id, "x") });
        socket.send_at_once([input(1, "\n")].into_iter().chain(more)).await;
        let (mut answered, mut exit) = (BTreeSet::new(), None);
        let close = loop {
            match socket.next().await {
                Ok(AgentFrame::Done { id } | AgentFrame::Error { id: Some(id), .. }) => {
                    assert!(answered.insert(id), "{id} has two answers");
                }
                Ok(AgentFrame::Exit { exit_code, .. }) => exit = Some(exit_code),
                Ok(_) => {}
                Err(close) => break close,
            }
        };
        assert_eq!((exit, close), (Some(0), Some(CloseCode::Normal)));
        assert_eq!(answered, (1..=200).collect());
    }
}

#[tokio::test]
async fn what_waits_is_delivered_although_the_client_has_left_and_leaving_is_answered_at_once() {
    let agent = Agent::start();
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "tr -s x").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.input(&"x".repeat(300_000)).await;
    let mut expected = String::from("x");
    for number in 0..100 {
        let text = format!("{number} ");
        socket.input(&text).await;
        expected += &text;
    }
    let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    socket.0.send(Message::Close(Some(close))).await.unwrap();
    assert_eq!(socket.next().await, Err(Some(CloseCode::Normal)));
    std::fs::write(go.path(), "go").unwrap();
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    assert_eq!(within(agent.finish(&exec.id)).await.output(), expected);
}

#[tokio::test]
async fn however_much_input_waits_frames_are_read_and_what_is_too_much_is_refused() {
    const MIB: usize = 1 << 20;
    let agent = Agent::start();
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "wc -c").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.send(&input(1, &"x".repeat(15 * MIB))).await;
    let mut sent = 15 * MIB;
    for id in 2..100 {
        socket.send(&input(id, "x")).await;
        sent += 1;
    }
    socket.send("{\"type\":\"ping\",\"id\":100}").await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Done { id: 100 }));
    socket.send(&input(101, &"x".repeat(MIB))).await;
    match socket.next().await {
        Ok(AgentFrame::Error { id: Some(101), code: Some(429), .. }) => {}
        other => panic!("{other:?} is no refusal of frame 101"),
    }
    std::fs::write(go.path(), "go").unwrap();
    for id in 1..100 {
        assert_eq!(socket.next().await, Ok(AgentFrame::Done { id }));
    }
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    assert_eq!(within(agent.finish(&exec.id)).await.output().trim(), sent.to_string());
}

#[tokio::test]
async fn a_burst_of_frames_for_a_process_that_reads_is_taken() {
    const COUNT: u32 = 20_000;
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "wc", "args": ["-c"] })).await;
    let socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    let (mut sink, mut stream) = socket.0.split();
    let sending = tokio::spawn(async move {
        for id in 1..=COUNT {
            sink.feed(Message::text(input(id, "x"))).await.unwrap();
        }
        sink.flush().await.unwrap();
    });
    for id in 1..=COUNT {
        let answer = loop {
            match within(stream.next()).await.unwrap().unwrap() {
                Message::Text(text) => break text,
                _ping => {}
            }
        };
        let answer: AgentFrame = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer, AgentFrame::Done { id });
    }
    sending.await.unwrap();
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    assert_eq!(within(agent.finish(&exec.id)).await.output().trim(), COUNT.to_string());
}

#[tokio::test]
async fn input_that_asks_for_no_answer_waits_for_room_and_none_of_it_is_lost() {
    const MIB: usize = 1 << 20;
    let agent = Agent::start();
    let go = NamedTempFile::new().unwrap();
    let exec = waiting_for(&agent, &go, "wc -c").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    let sending = tokio::spawn(async move {
        for _ in 0..10 {
            socket.input(&"x".repeat(4 * MIB)).await;
        }
        socket
    });
    until_pipe_is_full(&exec).await;
    std::fs::write(go.path(), "go").unwrap();
    let mut socket = within(sending).await.unwrap();
    socket.send(&input(1, "")).await;
    assert_eq!(socket.next().await, Ok(AgentFrame::Done { id: 1 }));
    assert_eq!(agent.send(&exec.id, "eof", "").await.status(), 200);
    assert_eq!(within(agent.finish(&exec.id)).await.output().trim(), (40 * MIB).to_string());
}

#[tokio::test]
async fn a_frame_that_cant_be_read_is_answered_with_its_id() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "cat", "args": [] })).await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    for (frame, number) in [
        ("{\"type\":\"nope\",\"id\":7}", Some(7)),
        ("{\"type\":\"resize\",\"data\":{\"cols\":-1,\"rows\":1},\"id\":8}", Some(8)),
        ("{\"type\":\"nope\",\"id\":\"x\"}", None),
        ("nonsense", None),
    ] {
        socket.send(frame).await;
        match socket.next().await {
            Ok(AgentFrame::Error { id, code: Some(400), error }) => {
                assert_eq!(id, number, "{frame}");
                assert!(error.contains("input, resize and ping"), "{error}");
            }
            other => panic!("{other:?} is no error"),
        }
    }
    // To the base interface an id means nothing, whatever it is.
    for id in ["\"x\"", "-1", "{}", "null"] {
        socket
            .send(&format!(r#"{{"type":"input","data":{{"input":"{}\n"}},"id":{id}}}"#, "a"))
            .await;
        socket.until_output("a\n").await;
    }
}

#[tokio::test]
async fn without_the_extension_frames_are_those_of_the_base_interface() {
    let agent = Agent::with_args(&["--without", "attach"]);
    let exec = agent.sh("read x; echo $x; exit 1").await;
    let mut socket = Socket::open(&agent, &exec.id, &token(ADMIN)).await;
    socket.send("{\"type\":\"input\",\"data\":{\"input\":\"a\\n\"},\"id\":1}").await;
    let output = AgentFrame::Output {
        output: "a\n".into(),
        stream: OutputType::Stdout,
        sequence: None,
        timestamp: None,
    };
    assert_eq!(socket.next().await, Ok(output));
    let exit = AgentFrame::Exit { exit_code: 1, sequence: None, timestamp: None };
    assert_eq!(socket.next().await, Ok(exit));
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
    assert_eq!(socket.exit_code().await, 1);
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
