//! Starting a session's shell.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use sandpipe_protocol::{CreateExecRequest, OutputType};

use super::fifo_lock::FifoLock;
use super::markers::Markers;
use super::script::Streams;
use super::session::Inner;
use super::session::{Shell, State};
use super::{Session, Sessions, script};
use crate::execs::{OutputReader, create, delete, write_all};
use crate::http::excerpt;
use crate::{Call, Error, ExecId, HostOutput, Nonce, Result};

/// How long a shell may take to be ready, in milliseconds: a real one may be started on a machine that is
/// overloaded. What ends, or prints what it is given, is judged at once.
const READY_TIMEOUT_MS: f64 = 30_000.0;

/// What shell a session has.
#[derive(Clone, Default)]
pub struct SessionOptions {
    /// The shell that runs the scripts, by path or name.
    pub shell: String,
    /// The directory that it begins in.
    pub cwd: Option<String>,
    /// Its environment variables, beside those that every exec has.
    pub env: BTreeMap<String, String>,
    /// Whom it runs as.
    pub user: Option<String>,
}

impl SessionOptions {
    fn into_request(mut self) -> CreateExecRequest {
        // An interactive shell reads the file that it names (POSIX, sh, ENV).
        self.env.entry("ENV".to_owned()).or_default();
        CreateExecRequest {
            args: script::arguments(&self.shell),
            command: self.shell,
            interactive: Some(true),
            cwd: self.cwd,
            env: Some(self.env),
            user: self.user,
            // As of any shell, what leaves its group may outlive it: a background process.
            contain: Some(false),
            ..CreateExecRequest::default()
        }
    }
}

impl Sessions {
    /// Starts a shell and waits until it is ready.
    pub fn create(&self, options: SessionOptions) -> Call<Session> {
        let sessions = self.clone();
        Box::pin(async move { sessions.begin(options).await })
    }

    async fn begin(&self, options: SessionOptions) -> Result<Session> {
        let request = options.into_request();
        let sandbox_agent = self.agent.clone();
        if sandbox_agent.http.is_closed() {
            return Err(Error::Closed.into());
        }
        let exec = create(&sandbox_agent, request.clone()).await?;
        let pid = exec.pid;
        let id = ExecId::of(exec)?;
        let agent = sandbox_agent.child();
        let mut shell = Box::new(Shell {
            reader: OutputReader::new(agent.clone(), id.clone(), 0),
            agent: agent.clone(),
            id: id.clone(),
            pid,
            user: request.user,
            unread: Vec::new(),
            streams: Streams::Shared,
            last_exit_code: 0,
        });
        let opened =
            match select(pin!(shell.open()), agent.http.host().sleep(READY_TIMEOUT_MS)).await {
                Either::Left((opened, _)) => opened,
                Either::Right(_) => Err(NotReady::Refused(
                    "was not ready within 30 s: it may be no shell".to_owned(),
                )),
            };
        if let Err(not_ready) = opened {
            // Best effort: the reason why there is no session is the one to be told.
            let forgotten = delete(&sandbox_agent.detached(), &id).await;
            return Err(match (not_ready, forgotten) {
                (NotReady::Failed(error), _) => error,
                (NotReady::Refused(what), _) => Box::new(Error::Session {
                    exec_id: id.as_str().to_owned(),
                    reason: format!("the shell {:?} {what}", request.command),
                    output: HostOutput::default(),
                }),
            });
        }
        let session = Session(Rc::new(Inner {
            id,
            agent,
            sandbox_agent,
            lock: FifoLock::default(),
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
    Refused(String),
}

impl Shell {
    /// Prepares the shell. What it says until it is ready is nobody's output.
    async fn open(&mut self) -> std::result::Result<(), NotReady> {
        let nonce = Nonce::of_bytes(self.agent.http.host().random_bytes());
        let mut markers = Markers::new(&nonce);
        write_all(&self.agent, &self.id, &script::opening(&nonce))
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
                return Err(NotReady::Refused(
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
        Err(NotReady::Refused(if said.is_empty() { what } else { format!("{what}: {said}") }))
    }
}
