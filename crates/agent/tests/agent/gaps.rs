//! Events that are not there any more.

use reqwest::Method;
use sandpipe_protocol::{ExecStdout, Gap, sse::Decoder};
use serde_json::Value;

use crate::support::{Agent, until, within};

#[derive(Debug)]
pub(crate) enum Received {
    Event(ExecStdout),
    Gap(Gap),
}

/// Reads a stream to its end; its beginning has been read already.
async fn read_on(begun: Vec<u8>, mut response: reqwest::Response) -> Vec<Received> {
    let mut decoder = Decoder::default();
    let mut received = Vec::new();
    let mut next = Some(begun);
    while let Some(chunk) = next {
        let mut take = |event: sandpipe_protocol::sse::Event| {
            received.push(match &*event.name {
                "gap" => Received::Gap(serde_json::from_slice(event.data).unwrap()),
                _ => Received::Event(serde_json::from_slice(event.data).unwrap()),
            });
        };
        decoder.feed(&chunk, &mut take).unwrap();
        next = within(response.chunk()).await.unwrap().map(Into::into);
    }
    received
}

/// Reads the output stream to its end.
pub(crate) async fn read(agent: &Agent, id: &str, query: &str) -> Vec<Received> {
    let path = format!("/api/v1/stream/execs/{id}/io{query}");
    let response = within(agent.request(Method::GET, &path).send()).await.unwrap();
    read_on(Vec::new(), response).await
}

/// Every number after `after` is told of once, as an event or as missing; gives how many gaps there are.
fn check(received: &[Received], after: u64) -> usize {
    let mut next = after + 1;
    for one in received {
        match one {
            Received::Event(event) => {
                assert_eq!(event.sequence, next);
                next += 1;
            }
            Received::Gap(gap) => {
                assert_eq!(gap.from, next);
                assert!(gap.to >= gap.from);
                next = gap.to + 1;
            }
        }
    }
    let Some(Received::Event(last)) = received.last() else { panic!("the last one is no event") };
    assert!(last.exit_code.is_some());
    received.iter().filter(|one| matches!(one, Received::Gap(_))).count()
}

fn small() -> Agent {
    Agent::patient(&["--spool-limit", "64KiB"])
}

#[tokio::test]
async fn a_stream_tells_which_events_were_dropped_before_its_first() {
    let agent = small();
    let exec = agent.sh("seq 1 200000").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    for after in [0, 1, 5] {
        let received = read(&agent, &exec.id, &format!("?lastSequence={after}")).await;
        assert!(matches!(received[0], Received::Gap(Gap { from, .. }) if from == after + 1));
        assert_eq!(check(&received, after), 1);
    }
}

#[tokio::test]
async fn a_reader_that_is_overtaken_is_told_of_every_event() {
    let agent = small();
    let exec = agent.sh("echo begin; read x; seq 1 5000000").await;
    let path = format!("/api/v1/stream/execs/{}/io", exec.id);
    let mut stalled = within(agent.request(Method::GET, &path).send()).await.unwrap();
    let mut begun = Vec::new();
    while !String::from_utf8_lossy(&begun).contains("begin") {
        begun.extend(within(stalled.chunk()).await.unwrap().unwrap());
    }
    agent.write(&exec.id, "go\n").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let received = read_on(begun, stalled).await;
    assert!(matches!(received[0], Received::Event(_)));
    assert!(check(&received, 0) >= 1);
}

#[tokio::test]
async fn what_is_still_there_is_read_without_a_gap() {
    let agent = small();
    let exec = agent.sh("seq 1 200000").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let path = format!("/api/v1/execs/{}/io", exec.id);
    let answer = within(agent.request(Method::GET, &path).send()).await.unwrap();
    assert_eq!(answer.status(), 410);
    let body: Value = answer.json().await.unwrap();
    assert_eq!((&body["code"], &body["from"]), (&410.into(), &1.into()));
    let to = body["to"].as_u64().unwrap();
    let message = body["message"].as_str().unwrap();
    assert!(message.contains(&to.to_string()), "{message}");

    let query = format!("?lastSequence={to}");
    let kept = agent.output_now(&exec.id, &query).await;
    assert_eq!(kept[0].sequence, to + 1);
    assert_eq!(kept.last().unwrap().exit_code, Some(0));
    assert_eq!(check(&read(&agent, &exec.id, &query).await, to), 0);
    // The last so many of those that exist: what was dropped is not asked for.
    assert_eq!(agent.output_now(&exec.id, "?lastSequence=-1000000").await, kept);
    // Far beyond the end there is nothing to miss.
    assert_eq!(agent.output_now(&exec.id, "?lastSequence=1000000").await, []);
}

#[tokio::test]
async fn a_websocket_names_the_events_that_are_lost() {
    use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest};

    let agent = small();
    let exec = agent.sh("seq 1 200000").await;
    until("it has ended", async || agent.get(&exec.id).await.exit_code == 0).await;
    let url = agent.url.replacen("http", "ws", 1);
    let request = format!("{url}/ws/v1/execs/{}?token={}", exec.id, crate::support::ADMIN);
    let request = request.into_client_request().unwrap();
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.unwrap();
    let mut frames = Vec::new();
    while let Some(Ok(message)) = within(futures_util::StreamExt::next(&mut socket)).await {
        if let Message::Text(text) = message {
            frames.push(serde_json::from_str::<Value>(&text).unwrap());
        }
    }
    assert_eq!(frames[0]["type"], "error");
    assert!(frames[0]["data"]["error"].as_str().unwrap().contains("events 1 to "));
    assert_eq!(frames.iter().filter(|frame| frame["type"] == "error").count(), 1);
    assert_eq!(frames.last().unwrap()["type"], "exit");
}
