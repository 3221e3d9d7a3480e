//! The paths of the agent's interface.

use std::rc::Rc;

use sandpipe_client::host::{HttpRequest, RequestBody};
use sandpipe_protocol::frame::Payload;
use sandpipe_protocol::{
    CreateExecRequest, ExecDeleteResponse, ExecListResponse, ExecStatus, ExecStdin, Gap, Health,
    SignalRequest, StdinType, TerminalSize,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::SimAgent;
use super::exec::Exec;
use super::output_form::{OutputForm, frame};
use super::response::{Response, error, json, stream, whole};
use crate::faults::Kind;

impl SimAgent {
    /// Does what a request asks for.
    pub(crate) async fn handle(
        self: &Rc<Self>,
        kind: Kind,
        path: &str,
        query: &str,
        request: &HttpRequest,
    ) -> Response {
        match kind {
            Kind::Health => return self.health(),
            Kind::List => return json(200, &ExecListResponse { execs: self.items() }),
            Kind::Create => return self.create_once(request),
            Kind::StreamList => {
                let wants_changes = query == "changes=true" && self.setup.offers("list-changes");
                return stream(200, "text/event-stream", self.stream_list(wants_changes));
            }
            Kind::StreamPorts => return stream(200, "text/event-stream", self.stream_ports()),
            Kind::Watch => return stream(200, "text/event-stream", self.stream_watched()),
            kind if kind.is_of_files() => {
                return self.handle_files(kind, path, query, request);
            }
            _ => {}
        }
        let id = path.split('/').skip_while(|segment| *segment != "execs").nth(1);
        let Some(exec) = id.and_then(|id| self.exec(id)) else {
            return error(404, "there is no such exec");
        };
        match kind {
            Kind::Delete => {
                self.delete(&exec).await;
                json(200, &ExecDeleteResponse { message: "deleted".to_owned() })
            }
            Kind::Start if exec.state().status != ExecStatus::Created => {
                error(409, "it has been started")
            }
            Kind::Start => {
                self.start(&exec);
                self.readers.wake();
                json(200, &exec.item())
            }
            Kind::Output => self.output(&exec, query, request),
            Kind::Stdin => self.stdin(&exec, request).await,
            Kind::Signal if self.setup.offers("signal") => self.signal_group(&exec, request),
            Kind::Signal => error(404, "there is no such path"),
            Kind::StreamOutput => {
                let last = exec.state().start_after(last_sequence(query));
                let form = self.stream_form(request);
                let body = self.stream_output(exec, last, form, form.start(None));
                stream(200, form.content_type(), body)
            }
            _ => json(200, &exec.item()),
        }
    }

    fn health(&self) -> Response {
        json(
            200,
            &Health {
                agent: "sandpipe-agent".to_owned(),
                version: "0.0.0".to_owned(),
                policy: None,
                features: self.setup.features.iter().copied().map(str::to_owned).collect(),
            },
        )
    }

    /// Creates an exec, unless one was created with the same key.
    fn create_once(self: &Rc<Self>, request: &HttpRequest) -> Response {
        let body = request.body.clone();
        let key = request.idempotency_key.clone().filter(|_| self.setup.offers("idempotency-key"));
        let before = key.as_ref().and_then(|key| self.keys.borrow().get(key).cloned());
        let (status, exec) = match before {
            Some((other, _)) if other != body => {
                return error(422, "the key was used for another body");
            }
            Some((_, exec)) if self.exec(&exec.id).is_none() => return error(409, "it is gone"),
            Some((_, exec)) => (200, exec),
            None => {
                let exec = self.create(read::<CreateExecRequest>(request));
                if let Some(key) = key {
                    self.keys.borrow_mut().insert(key, (body, exec.clone()));
                }
                (201, exec)
            }
        };
        let item = exec.item();
        if !self.setup.offers("create-stream") || !request.accept.contains("text/event-stream") {
            return json(status, &item);
        }
        let form = self.stream_form(request);
        let body = self.stream_output(exec, 0, form, form.start(Some(&item)));
        stream(status, form.content_type(), body)
    }

    fn stream_form(&self, request: &HttpRequest) -> OutputForm {
        let in_frames = self.answers_in_frames(request);
        if in_frames { OutputForm::Frames } else { OutputForm::EventStream }
    }

    fn output(&self, exec: &Exec, query: &str, request: &HttpRequest) -> Response {
        let state = exec.state();
        let last = state.start_after(last_sequence(query));
        match state.gap_after(last).filter(|_| self.setup.offers("gap")) {
            Some(gap) => json(410, &Lost { code: 410, message: "lost", gap }),
            None if self.answers_in_frames(request) => {
                let mut bytes = OutputForm::Frames.events_after(&state, last);
                let events = state.events_after(last);
                if events.last().is_none_or(|last| last.exit_code.is_none()) {
                    // The process may write more: this says that there is no more now.
                    bytes.extend(frame(0, Payload::Ping));
                }
                whole(200, OutputForm::Frames.content_type(), bytes)
            }
            None => json(200, &state.events_after(last)),
        }
    }

    /// Answers when the process has taken the input.
    async fn stdin(&self, exec: &Exec, request: &HttpRequest) -> Response {
        if let Some(RequestBody::Bytes(bytes)) = &request.body {
            if !self.setup.offers("stdin-bytes") {
                return error(415, "the body must be JSON");
            }
            let Some(written) = exec.write_bytes(bytes) else {
                return error(400, "its standard input has ended");
            };
            exec.wait_until_read(written).await;
            return json(200, &exec.item());
        }
        let ExecStdin { kind, input } = read(request);
        match kind {
            StdinType::Stdin => match exec.write(input) {
                Some(written) => exec.wait_until_read(written).await,
                None => return error(400, "its standard input has ended"),
            },
            StdinType::Eof if !self.setup.offers("stdin-eof") => return error(400, "no such type"),
            StdinType::Eof => exec.change(|state| state.input_ended = true),
            StdinType::Resize => {
                let size: TerminalSize = serde_json::from_str(&input).expect("a size");
                exec.change(|state| state.columns.push(size.cols));
            }
        }
        json(200, &exec.item())
    }

    fn signal_group(&self, exec: &Exec, request: &HttpRequest) -> Response {
        let SignalRequest { signal } = read(request);
        if self.signal(exec, signal.trim_start_matches("SIG")) {
            json(200, &exec.item())
        } else {
            error(409, "no process of the group is left")
        }
    }
}

/// The body of a 410.
#[derive(Serialize)]
struct Lost {
    code: u16,
    message: &'static str,
    #[serde(flatten)]
    gap: Gap,
}

/// A client's body: it has to be right.
fn read<T: DeserializeOwned>(request: &HttpRequest) -> T {
    let Some(RequestBody::Json(body)) = &request.body else {
        panic!("a body of JSON");
    };
    serde_json::from_str(body).expect("what the path takes")
}

fn last_sequence(query: &str) -> i64 {
    query.strip_prefix("lastSequence=").map_or(0, |last| last.parse().expect("a number"))
}
