use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use js_sys::Promise;
use sandpipe_protocol::{CreateExecRequest, OutputType};
use wasm_bindgen::prelude::*;

use sandpipe_client::nonce::Nonce;

use super::markers::Markers;
use super::script::Streams;
use super::shell::{Shell, State};
use super::turns::Turns;
use super::{Inner, Session, Sessions, script};
use crate::arguments::{Fields, program, shell_text, variables};
use crate::execs::create::create;
use crate::execs::delete::delete;
use crate::execs::input::feed_on;
use crate::execs::output_reader::OutputReader;
use crate::promise::promise;
use crate::request::{ExecId, excerpt};
use crate::sleep::sleep;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::host_value::HostText;

/// How long a shell may take to be ready, in milliseconds: a real one may be started on a machine that is
/// overloaded. What ends, or prints what it is given, is judged at once.
const READY_TIMEOUT: f64 = 30_000.0;

#[wasm_bindgen]
impl Sessions {
    /// Starts a shell and waits until it is ready. Resolves a [`Session`].
    pub fn create(&self, options: &JsValue) -> Promise {
        let request = read_options(options);
        let sessions = self.clone();
        promise(async move { Ok(sessions.begin(request?).await?.into()) })
    }
}

fn read_options(value: &JsValue) -> Result<CreateExecRequest> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&["cwd", "env", "user", "shell"])?;
    let shell = fields.optional("shell", program)?.unwrap_or_else(|| "bash".to_owned());
    let mut env: BTreeMap<String, String> = fields.optional("env", variables)?.unwrap_or_default();
    // An interactive shell reads the file that it names (POSIX, sh, ENV).
    env.entry("ENV".to_owned()).or_default();
    Ok(CreateExecRequest {
        args: script::arguments(&shell),
        command: shell,
        interactive: Some(true),
        cwd: fields.optional("cwd", shell_text)?,
        env: Some(env),
        user: fields.optional("user", shell_text)?,
        ..CreateExecRequest::default()
    })
}

impl Sessions {
    async fn begin(&self, request: CreateExecRequest) -> Result<Session> {
        let outer = self.transport.clone();
        if outer.in_flight.is_closed() {
            return Err(Error::Closed.into());
        }
        let exec = create(&outer, &request).await?;
        let pid = exec.pid;
        let id = ExecId::of(exec)?;
        let transport = outer.part();
        let mut shell = Box::new(Shell {
            reader: OutputReader::new(transport.clone(), id.clone(), 0),
            transport: transport.clone(),
            id: id.clone(),
            pid,
            user: request.user,
            unread: Vec::new(),
            streams: Streams::Shared,
            last_exit_code: 0,
        });
        let opened = match select(pin!(shell.open()), pin!(sleep(READY_TIMEOUT))).await {
            Either::Left((opened, _)) => opened,
            Either::Right(_) => {
                Err(NotReady::Because("was not ready within 30 s: it may be no shell".to_owned()))
            }
        };
        if let Err(not_ready) = opened {
            // Best effort: the reason why there is no session is the one to be told.
            let forgotten = delete(&outer.apart(), &id).await;
            return Err(match (not_ready, forgotten) {
                (NotReady::Failed(error), _) => error,
                (NotReady::Because(what), _) => Box::new(Error::Session {
                    exec_id: id.as_str().to_owned(),
                    reason: format!("the shell {:?} {what}", request.command),
                    output: HostText::default(),
                }),
            });
        }
        let session = Session(Rc::new(Inner {
            id,
            transport,
            outer,
            turns: Turns::default(),
            state: RefCell::new(State::Ready(shell)),
            closing: RefCell::default(),
            siblings: self.open.clone(),
        }));
        self.open.borrow_mut().push(session.clone());
        Ok(session)
    }
}

/// Why a shell is not ready.
enum NotReady {
    /// The agent could not be asked.
    Failed(Box<Error>),
    /// What it did, or did not do.
    Because(String),
}

impl Shell {
    /// Prepares the shell. What it says until it is ready is nobody's output.
    async fn open(&mut self) -> std::result::Result<(), NotReady> {
        let nonce = Nonce::of_bytes(uuid::Uuid::new_v4().into_bytes());
        let mut markers = Markers::new(&nonce);
        feed_on(&self.transport, &self.id, &script::opening(&nonce))
            .await
            .map_err(NotReady::Failed)?;
        let mut said = String::new();
        let mut printed = String::new();
        while let Some(events) = self.reader.read().await.map_err(NotReady::Failed)? {
            let mut events = events.into_iter();
            for event in events.by_ref() {
                let text = markers.feed(event.kind, &event.output);
                said.push_str(&text);
                if event.kind == OutputType::Stdout {
                    printed.push_str(&text);
                }
                if markers.over() {
                    self.unread = events.collect();
                    self.reader.suspend();
                    self.streams = Streams::of_opening(markers.exit_code());
                    return Ok(());
                }
            }
            if script::is_repeated(&nonce, &printed) {
                return Err(NotReady::Because(
                    "is no shell: it prints what it is given".to_owned(),
                ));
            }
        }
        let exit_code = self.reader.exit_code().unwrap_or_default();
        let what = match exit_code {
            126 | 127 => format!("could not be started ({exit_code})"),
            _ => format!("ended with exit code {exit_code} before it was ready"),
        };
        let said = excerpt(said.trim().as_bytes());
        let said = said.trim_end_matches('.');
        Err(NotReady::Because(if said.is_empty() { what } else { format!("{what}: {said}") }))
    }
}
