//! Output in binary frames: the process's bytes as they are, with the numbers that events have.

use reqwest::{Method, Response};
use sandpipe_protocol::{
    Characters, ExecItem, ExecStdout, Gap, OutputType,
    frame::{Decoder, MEDIA_TYPE, Payload},
};
use serde_json::json;

use crate::support::{Agent, until, within};

/// What a frame said.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Received {
    Output(OutputType, Vec<u8>),
    Unfinished(OutputType, Vec<u8>),
    Exit(i32),
    Gap(Gap),
    Ping,
    Exec(Box<ExecItem>),
}

/// The frames of an answer, with their sequences.
struct Frames {
    response: Response,
    decoder: Decoder,
    received: std::collections::VecDeque<(u64, Received)>,
}

impl Frames {
    fn in_answer(response: Response) -> Self {
        assert_eq!(response.headers()["content-type"], MEDIA_TYPE);
        Self { response, decoder: Decoder::default(), received: [].into() }
    }

    async fn next(&mut self) -> Option<(u64, Received)> {
        while self.received.is_empty() {
            let chunk = within(self.response.chunk()).await.unwrap()?;
            let mut take = |frame: sandpipe_protocol::frame::Frame<'_>| {
                let received = match frame.payload {
                    Payload::Output(kind, bytes) => Received::Output(kind, bytes.into()),
                    Payload::Unfinished(kind, bytes) => Received::Unfinished(kind, bytes.into()),
                    Payload::Exit(code) => Received::Exit(code),
                    Payload::Gap(gap) => Received::Gap(gap),
                    Payload::Ping => Received::Ping,
                    Payload::Exec(json) => Received::Exec(serde_json::from_slice(json).unwrap()),
                    Payload::Unknown => panic!("a frame of no known type"),
                };
                self.received.push_back((frame.sequence, received));
            };
            self.decoder.feed(&chunk, &mut take).unwrap();
        }
        self.received.pop_front()
    }

    async fn rest(mut self) -> Vec<(u64, Received)> {
        let mut all = Vec::new();
        while let Some(received) = self.next().await {
            all.push(received);
        }
        all
    }
}

const BOTH: &str = "application/vnd.sandpipe.output, text/event-stream, application/json";

async fn get(agent: &Agent, path: &str) -> Response {
    let request = agent.request(Method::GET, path).header("Accept", BOTH);
    within(request.send()).await.unwrap()
}

async fn stream(agent: &Agent, id: &str, query: &str) -> Frames {
    Frames::in_answer(get(agent, &format!("/api/v1/stream/execs/{id}/io{query}")).await)
}

async fn snapshot(agent: &Agent, id: &str, query: &str) -> Vec<(u64, Received)> {
    let answer = get(agent, &format!("/api/v1/execs/{id}/io{query}")).await;
    Frames::in_answer(answer).rest().await
}

/// The events that frames are, as text.
fn events(frames: &[(u64, Received)]) -> Vec<(u64, String, Option<i32>)> {
    let mut characters = [Characters::default(); 2];
    let mut events = Vec::new();
    for (sequence, received) in frames {
        match received {
            Received::Unfinished(kind, bytes) => characters[*kind as usize].resume(bytes),
            Received::Output(kind, bytes) => {
                let text = characters[*kind as usize].next(bytes).to_text();
                events.push((*sequence, text, None));
            }
            Received::Exit(code) => events.push((*sequence, String::new(), Some(*code))),
            Received::Ping => {}
            Received::Gap(_) | Received::Exec(_) => panic!("{received:?}"),
        }
    }
    events
}

fn same(events: Vec<ExecStdout>) -> Vec<(u64, String, Option<i32>)> {
    events.into_iter().map(|event| (event.sequence, event.output, event.exit_code)).collect()
}

fn bytes(frames: &[(u64, Received)]) -> Vec<u8> {
    let payloads = frames.iter().filter_map(|(_, received)| match received {
        Received::Output(_, bytes) => Some(&bytes[..]),
        _ => None,
    });
    payloads.collect::<Vec<_>>().concat()
}

#[tokio::test]
async fn a_process_is_seen_byte_for_byte() {
    let agent = Agent::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    // Every pair of bytes.
    let written: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_be_bytes).collect::<Vec<_>>().repeat(20);
    std::fs::write(file.path(), &written).unwrap();
    let exec = agent.sh(&format!("cat '{}'; exit 7", file.path().display())).await;
    let live = stream(&agent, &exec.id, "").await.rest().await;
    assert_eq!(live[0], (0, Received::Ping));
    assert_eq!(bytes(&live), written);
    let last = live.last().unwrap();
    assert_eq!(last.1, Received::Exit(7));
    let again = snapshot(&agent, &exec.id, "").await;
    assert_eq!(again, live[1..]);
    assert_eq!(events(&live), same(agent.finish(&exec.id).await.0));
    assert_eq!(events(&live), same(agent.output_now(&exec.id, "").await));
}

#[tokio::test]
async fn a_reader_that_begins_within_a_character_has_its_beginning() {
    let agent = Agent::start();
    // A character in two parts, and one that never ends, each part in a frame of its own.
    let script = "printf 'a\\342\\202'; read x; printf x >&2; printf '\\254b\\360'; read x; \
                  printf '\\237'; read x; printf '\\342' >&2";
    let exec = agent.sh(script).await;
    let mut live = stream(&agent, &exec.id, "").await;
    for _ in 0..3 {
        while !matches!(live.next().await, Some((_, Received::Output(OutputType::Stdout, _)))) {}
        agent.write(&exec.id, "\n").await;
    }
    let expected = same(agent.finish(&exec.id).await.0);
    let text: String = expected.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(text, "ax\u{20AC}b\u{FFFD}\u{FFFD}");
    for after in 0..=expected.len() {
        let query = format!("?lastSequence={after}");
        let frames = stream(&agent, &exec.id, &query).await.rest().await;
        assert_eq!(events(&frames), expected[after..], "after {after}");
        assert_eq!(frames[1..].to_vec(), without_end(snapshot(&agent, &exec.id, &query).await));
        assert_eq!(same(agent.output_now(&exec.id, &query).await), expected[after..]);
    }
}

fn without_end(mut frames: Vec<(u64, Received)>) -> Vec<(u64, Received)> {
    frames.pop_if(|last| last.1 == Received::Ping);
    frames
}

#[tokio::test]
async fn a_snapshot_of_what_still_runs_ends_with_a_ping() {
    let agent = Agent::start();
    let exec = agent.sh("echo one; read x").await;
    let mut live = stream(&agent, &exec.id, "").await;
    while !matches!(live.next().await, Some((1, _))) {}
    let output = Received::Output(OutputType::Stdout, b"one\n".into());
    assert_eq!(snapshot(&agent, &exec.id, "").await, [(1, output), (0, Received::Ping)]);
    assert_eq!(snapshot(&agent, &exec.id, "?lastSequence=1").await, [(0, Received::Ping)]);
    agent.write(&exec.id, "\n").await;
    assert_eq!(live.rest().await, [(2, Received::Exit(0))]);
    assert_eq!(snapshot(&agent, &exec.id, "?lastSequence=1").await, [(2, Received::Exit(0))]);
}

#[tokio::test]
async fn a_silent_stream_of_frames_begins_at_once_and_is_kept_awake() {
    let agent = Agent::with_limit("ping-interval=200ms");
    let exec = agent.sh("read x").await;
    let response = get(&agent, &format!("/api/v1/stream/execs/{}/io", exec.id)).await;
    assert_eq!(response.headers()["cache-control"], "no-cache");
    assert_eq!(response.headers()["x-accel-buffering"], "no");
    let mut frames = Frames::in_answer(response);
    for _ in 0..2 {
        assert_eq!(frames.next().await, Some((0, Received::Ping)));
    }
}

#[tokio::test]
async fn a_create_is_answered_with_the_exec_and_its_frames() {
    let agent = Agent::start();
    let body = json!({ "command": "sh", "args": ["-c", "printf '\\377'; exit 3"] });
    let request = agent.request(Method::POST, "/api/v1/execs").json(&body).header("Accept", BOTH);
    let response = within(request.send()).await.unwrap();
    assert_eq!(response.status(), 201);
    let frames = Frames::in_answer(response).rest().await;
    let Received::Exec(exec) = &frames[0].1 else { panic!("{frames:?}") };
    assert_eq!(exec.id, agent.list().await[0].id);
    let output = Received::Output(OutputType::Stdout, b"\xFF".into());
    assert_eq!(frames[1..], [(1, output), (2, Received::Exit(3))]);
}

#[tokio::test]
async fn a_create_with_a_command_line_that_no_frame_has_room_for_is_answered_with_frames() {
    let agent = Agent::start();
    let body = json!({ "command": "echo", "args": ["x".repeat(100_000)] });
    let request = agent.request(Method::POST, "/api/v1/execs").json(&body).header("Accept", BOTH);
    let frames = Frames::in_answer(within(request.send()).await.unwrap()).rest().await;
    let Received::Exec(exec) = &frames[0].1 else { panic!("{frames:?}") };
    assert_eq!(exec.args_truncated, Some(true));
    assert_eq!(bytes(&frames).len(), 100_001);
}

#[tokio::test]
async fn frames_tell_which_events_were_dropped() {
    let agent = Agent::with_args(&["--spool-limit", "64KiB"]);
    let exec = agent.sh("seq 1 200000").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let frames = stream(&agent, &exec.id, "?lastSequence=2").await.rest().await;
    let (0, Received::Gap(gap)) = frames[1] else { panic!("{:?}", frames[1]) };
    assert_eq!((gap.from, gap.to + 1), (3, frames[2].0));
    let answer = get(&agent, &format!("/api/v1/execs/{}/io", exec.id)).await;
    assert_eq!(answer.status(), 410);
    let kept = snapshot(&agent, &exec.id, &format!("?lastSequence={}", gap.to)).await;
    assert_eq!(kept, frames[2..]);
}

#[tokio::test]
async fn who_did_not_ask_for_frames_or_has_an_agent_without_them_gets_events() {
    let plain = Agent::with_args(&["--without", "frames"]);
    let exec = plain.sh("echo hi").await;
    plain.finish(&exec.id).await;
    let answer = get(&plain, &format!("/api/v1/stream/execs/{}/io", exec.id)).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let answer = get(&plain, &format!("/api/v1/execs/{}/io", exec.id)).await;
    assert_eq!(answer.headers()["content-type"], "application/json");
}
