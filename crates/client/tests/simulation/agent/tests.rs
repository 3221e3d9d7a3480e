//! The agent by itself, asked over a network without faults.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;

use sandpipe_client::abort::AbortSignal;
use sandpipe_client::host::{Host, HttpRequest, HttpResponse, Method};
use sandpipe_protocol::{ExecItem, ExecStdout, OutputType, sse};
use serde_json::{Value, json};

use super::program::{OnTerm, Program, Step};
use crate::network::URL;
use crate::world::{Setup, World};

/// Someone who makes requests.
#[derive(Clone)]
struct Asker(Rc<dyn Host>);

impl Asker {
    async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
        let mut answer = self.open(method, path, body, None, "application/json").await;
        (answer.status, read(&mut answer).await)
    }

    async fn open(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        key: Option<&str>,
        accept: &str,
    ) -> HttpResponse {
        let request = HttpRequest {
            method,
            url: format!("{URL}{path}"),
            accept: accept.to_owned(),
            idempotency_key: key.map(str::to_owned),
            body: body.map(|body| body.to_string()),
            cancel: AbortSignal::default(),
        };
        self.0.send(request).await.expect("a network without faults")
    }

    async fn create(&self, command: &str) -> ExecItem {
        let body = json!({ "command": command, "args": [] });
        let (status, text) = self.ask(Method::Post, "/api/v1/execs", Some(body)).await;
        assert_eq!(status, 201);
        serde_json::from_str(&text).unwrap()
    }

    async fn stream(&self, path: &str) -> Vec<(String, String)> {
        let mut answer = self.open(Method::Get, path, None, None, "text/event-stream").await;
        events(&read(&mut answer).await)
    }
}

/// Reads a body to its end.
async fn read(answer: &mut HttpResponse) -> String {
    let body = answer.body.as_mut().unwrap();
    let (mut chunk, mut all) = (Vec::new(), Vec::new());
    loop {
        poll_fn(|context| body.poll_read(context, &mut chunk)).await.unwrap();
        if chunk.is_empty() {
            return String::from_utf8(all).unwrap();
        }
        all.append(&mut chunk);
    }
}

/// The names and data of events.
fn events(text: &str) -> Vec<(String, String)> {
    let mut events = Vec::new();
    let mut take =
        |event: sse::Event<'_>| events.push((event.name.to_string(), event.text().into_owned()));
    sse::Decoder::default().feed(text.as_bytes(), &mut take).unwrap();
    events
}

fn in_world<F: Future<Output = ()> + 'static>(setup: Setup, run: impl FnOnce(Asker, &World) -> F) {
    let world = World::new(setup, false);
    let running = run(Asker(world.host.clone()), &world);
    world.run(running).unwrap();
}

#[test]
fn a_command_is_followed_to_its_exit_code_by_any_number_of_readers() {
    in_world(Setup::calm(1), |asker, world| {
        let steps = vec![
            Step::Write(OutputType::Stdout, "one\n".to_owned()),
            Step::Pause(40_000.0),
            Step::Write(OutputType::Stderr, "two\n".to_owned()),
        ];
        world.agent.install("slow", Program { steps, ..Program::exit(3) });
        async move {
            let exec = asker.create("slow").await;
            let path = format!("/api/v1/stream/execs/{}/io", exec.id);
            let whole = asker.stream(&path).await;
            let texts: Vec<ExecStdout> =
                whole.iter().map(|(_, data)| serde_json::from_str(data).unwrap()).collect();
            let seen: Vec<_> =
                texts.iter().map(|event| (event.output.as_str(), event.sequence)).collect();
            assert_eq!(seen, [("one\n", 1), ("two\n", 2), ("", 3)]);
            assert_eq!(texts[2].exit_code, Some(3));
            assert_eq!(asker.stream(&format!("{path}?lastSequence=2")).await, whole[2..]);
            assert_eq!(asker.stream(&format!("{path}?lastSequence=-2")).await, whole[1..]);
            let (_, item) = asker.ask(Method::Get, "/api/v1/execs/exec-000001", None).await;
            let item: ExecItem = serde_json::from_str(&item).unwrap();
            assert_eq!((item.exit_code, item.status), (3, sandpipe_protocol::ExecStatus::Exited));
        }
    });
}

#[test]
fn a_key_creates_once_and_the_stream_of_a_create_begins_with_the_exec() {
    in_world(Setup::calm(2), |asker, world| {
        world.agent.install("echo", Program::write("hello\n", 0));
        let agent = world.agent.clone();
        async move {
            let create = async |command: &str| {
                let body = Some(json!({ "command": command, "args": [] }));
                let accept = "text/event-stream, application/json";
                asker.open(Method::Post, "/api/v1/execs", body, Some("k"), accept).await
            };
            let mut first = create("echo").await;
            let events = events(&read(&mut first).await);
            assert_eq!((first.status, events[0].0.as_str(), events.len()), (201, "exec", 3));
            assert_eq!(create("echo").await.status, 200);
            assert_eq!(create("other").await.status, 422);
            assert_eq!(agent.execs_of("echo").len(), 1);
            let (status, _) = asker.ask(Method::Delete, "/api/v1/execs/exec-000001", None).await;
            assert_eq!((status, create("echo").await.status), (200, 409));
        }
    });
}

#[test]
fn events_that_were_dropped_are_told_if_the_agent_tells_gaps() {
    for tells_gaps in [true, false] {
        let mut setup = Setup { max_events: 2, ..Setup::calm(3) };
        if !tells_gaps {
            setup.features = BTreeSet::new();
        }
        in_world(setup, |asker, world| {
            let write = |text: &str| Step::Write(OutputType::Stdout, text.to_owned());
            let steps = vec![write("1"), write("2"), write("3")];
            world.agent.install("count", Program { steps, ..Program::exit(0) });
            let executor = world.executor.clone();
            async move {
                let id = asker.create("count").await.id;
                executor.sleep(1.0).await;
                let events = asker.stream(&format!("/api/v1/stream/execs/{id}/io")).await;
                let (status, text) =
                    asker.ask(Method::Get, &format!("/api/v1/execs/{id}/io"), None).await;
                if tells_gaps {
                    let gap = ("gap".to_owned(), r#"{"from":1,"to":2}"#.to_owned());
                    assert_eq!((&events[0], events.len(), status), (&gap, 3, 410));
                } else {
                    assert_eq!((events.len(), status), (2, 200));
                    assert_eq!(serde_json::from_str::<Vec<ExecStdout>>(&text).unwrap().len(), 2);
                }
            }
        });
    }
}

#[test]
fn signals_reach_the_whole_group_with_and_without_the_extension() {
    for on_term in [OnTerm::Die, OnTerm::Ignore, OnTerm::TidyUp { after_ms: 5.0, exit_code: 7 }] {
        for has_extension in [true, false] {
            let mut setup = Setup::calm(4);
            if !has_extension {
                setup.features.remove("signal");
            }
            in_world(setup, |asker, world| {
                let steps = vec![Step::Fork(1e6), Step::Pause(1e6)];
                world.agent.install("stay", Program { steps, on_term, ..Program::exit(0) });
                let agent = world.agent.clone();
                let executor = world.executor.clone();
                async move {
                    let exec = asker.create("stay").await;
                    let signal = async |signal: &str| {
                        if has_extension {
                            let path = format!("/api/v1/execs/{}/signal", exec.id);
                            let body = json!({ "signal": format!("SIG{signal}") });
                            return asker.ask(Method::Post, &path, Some(body)).await.0 == 200;
                        }
                        let script = r#"kill "-$1" "-$2" || exit 1"#;
                        let args = ["-c", script, "sh", signal, &exec.pid.to_string()];
                        let body = json!({ "command": "sh", "args": args });
                        let (_, text) = asker.ask(Method::Post, "/api/v1/execs", Some(body)).await;
                        let kill: ExecItem = serde_json::from_str(&text).unwrap();
                        let path = format!("/api/v1/stream/execs/{}/io", kill.id);
                        asker.stream(&path).await.last().unwrap().1.contains(r#""exitCode":0"#)
                    };
                    let exec = agent.exec(&exec.id).unwrap();
                    assert!(signal("TERM").await);
                    executor.sleep(10.0).await;
                    let code = exec.look(|state| state.exit_code);
                    match on_term {
                        OnTerm::Die => assert_eq!(code, 143),
                        OnTerm::TidyUp { exit_code, .. } => assert_eq!(code, exit_code),
                        OnTerm::Ignore => {
                            assert!(signal("KILL").await);
                            executor.sleep(10.0).await;
                            assert_eq!(exec.look(|state| state.exit_code), 137);
                        }
                    }
                    assert!(!signal("KILL").await);
                }
            });
        }
    }
}

#[test]
fn standard_input_is_taken_up_to_its_end() {
    in_world(Setup::calm(5), |asker, world| {
        world.agent.install("cat", Program { steps: vec![Step::Copy], ..Program::exit(0) });
        async move {
            let id = asker.create("cat").await.id;
            let path = format!("/api/v1/execs/{id}/io");
            for (kind, input, expected) in
                [("stdin", "a", 200), ("stdin", "b", 200), ("eof", "", 200), ("stdin", "c", 400)]
            {
                let body = json!({ "type": kind, "input": input });
                assert_eq!(asker.ask(Method::Post, &path, Some(body)).await.0, expected);
            }
            let events = asker.stream(&format!("/api/v1/stream/execs/{id}/io")).await;
            assert_eq!(events.len(), 3);
        }
    });
}

#[test]
fn the_list_is_told_at_once_and_after_each_change() {
    in_world(Setup::calm(6), |asker, world| {
        world.agent.install("true", Program::exit(0));
        let agent = world.agent.clone();
        async move {
            let path = "/api/v1/stream/execs?changes=true";
            let mut answer = asker.open(Method::Get, path, None, None, "text/event-stream").await;
            let mut text = String::new();
            let exec = asker.create("true").await;
            let body = answer.body.as_mut().unwrap();
            while !text.contains(r#""removed":["exec-000001"]"#) {
                let mut chunk = Vec::new();
                poll_fn(|context| body.poll_read(context, &mut chunk)).await.unwrap();
                text.push_str(std::str::from_utf8(&chunk).unwrap());
                if text.contains("EXITED")
                    && let Some(exec) = agent.exec(&exec.id)
                {
                    agent.delete(&exec).await;
                }
            }
        }
    });
}
