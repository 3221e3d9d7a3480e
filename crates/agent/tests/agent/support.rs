//! A running agent, and what tests ask of it.

mod log;
#[path = "../../../policy/tests/support/needs.rs"]
mod needs;
mod processes;
mod program;
mod report;
#[path = "../../../policy/tests/support/visible.rs"]
mod visible;
mod wait;

use std::{
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::{Pid, geteuid},
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use sandpipe_protocol::{ExecItem, ExecListResponse, ExecStdout, OutputType, sse::Decoder};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use needs::needs;
pub(crate) use processes::{
    MARKER, children_of, command_line_of, descendants_of, lives, mark, marked, marked_script,
    open_files, stat_of, state_of, status_of,
};
pub(crate) use program::{program, program_for_all, shared_directory};
pub(crate) use visible::{NO_VISIBLE_DIRECTORY, visible_directory};
pub(crate) use wait::{TIMEOUT, none_is_left, output_of, read_ready, run_to_end, until, within};

pub(crate) const ADMIN: &str = "admin-token-of-the-tests";
pub(crate) const READONLY: &str = "readonly-token-of-the-tests";

/// An agent that ends with the test.
pub(crate) struct Agent {
    pub(crate) process: Child,
    pub(crate) url: String,
    pub(crate) state: PathBuf,
    client: Client,
    /// All processes that it has been.
    launched: Vec<u32>,
    _directory: TempDir,
}

impl Agent {
    /// Starts one with the tests' tokens on a free port.
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    /// Starts one after `change` has had its say about the command.
    pub(crate) fn with(change: impl FnOnce(&mut Command)) -> Self {
        let directory = TempDir::new().unwrap();
        let state = directory.path().join("state");
        let mut command = with_tokens(&state);
        change(&mut command);
        let (process, url) = launch(command);
        let client = client();
        let launched = vec![process.id()];
        Self { process, url, state, client, launched, _directory: directory }
    }

    /// Starts one with these flags more.
    pub(crate) fn with_args(args: &[&str]) -> Self {
        Self::with(|command| _ = command.args(args))
    }

    /// Starts one with a time limit in place of its default.
    pub(crate) fn with_limit(limit: &str) -> Self {
        Self::with_args(&["--time-limit", limit])
    }

    /// Starts one that leaves a client its stream that reads nothing for as long as a test may take.
    pub(crate) fn patient(args: &[&str]) -> Self {
        Self::with_args(&[&["--time-limit", "stall-timeout=10min"], args].concat())
    }

    /// Starts one with another state directory, which stays.
    pub(crate) fn with_state(state: PathBuf) -> Self {
        // The last one counts.
        let mut agent = Self::with(|command| _ = command.arg("--state-dir").arg(&state));
        agent.state = state;
        agent
    }

    /// Starts it again, after it has ended, on the same state directory.
    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with these flags.
    pub(crate) fn restart_with(&mut self, args: &[&str]) {
        let mut command = with_tokens(&self.state);
        command.args(args);
        (self.process, self.url) = launch(command);
        self.launched.push(self.pid());
    }

    /// Kills it as nothing else can be killed.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Process that has the agent's commands. Where narrower policies have boxes, too, it may be any of these: ids come round again.
    pub(crate) fn box_pid(&self) -> u32 {
        // Behind walls it is the program that has built them.
        let is_box = |pid: &u32| command_line_of(*pid).contains("\0box\0");
        children_of(self.pid()).into_iter().find(is_box).expect("the agent has a box")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid().cast_signed()), signal).unwrap();
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the agent has ended", async || {
            status = self.process.try_wait().unwrap();
            status.is_some()
        })
        .await;
        status.unwrap()
    }

    /// Closes the connections that are kept for the next request.
    pub(crate) fn disconnect(&mut self) {
        self.client = client();
    }

    /// A request with the admin token.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.anonymous(method, path).bearer_auth(ADMIN)
    }

    /// A request without a token.
    pub(crate) fn anonymous(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Creates an exec and gives the answer.
    pub(crate) async fn try_create(&self, request: Value) -> Response {
        let request = self.request(Method::POST, "/api/v1/execs").json(&request);
        within(request.send()).await.unwrap()
    }

    pub(crate) async fn create(&self, request: Value) -> ExecItem {
        let response = self.try_create(request).await;
        assert_eq!(response.status(), 201, "{}", response.text().await.unwrap());
        response.json().await.unwrap()
    }

    /// Creates an exec of a shell script.
    pub(crate) async fn sh(&self, script: &str) -> ExecItem {
        self.create(json!({ "command": "sh", "args": ["-c", script] })).await
    }

    /// The same, in a terminal.
    pub(crate) async fn sh_in_terminal(&self, script: &str) -> ExecItem {
        self.create(json!({ "command": "sh", "args": ["-c", script], "pty": true })).await
    }

    pub(crate) async fn get(&self, id: &str) -> ExecItem {
        let response = self.request(Method::GET, &format!("/api/v1/execs/{id}")).send();
        within(response).await.unwrap().json().await.unwrap()
    }

    pub(crate) async fn list(&self) -> Vec<ExecItem> {
        let response = within(self.request(Method::GET, "/api/v1/execs").send()).await.unwrap();
        response.json::<ExecListResponse>().await.unwrap().execs
    }

    pub(crate) async fn delete(&self, id: &str) -> Response {
        let request = self.request(Method::DELETE, &format!("/api/v1/execs/{id}"));
        within(request.send()).await.unwrap()
    }

    pub(crate) async fn start_exec(&self, id: &str) -> Response {
        let request = self.request(Method::POST, &format!("/api/v1/execs/{id}/start"));
        within(request.send()).await.unwrap()
    }

    /// Sends text to standard input.
    pub(crate) async fn write(&self, id: &str, input: &str) -> Response {
        within(self.send(id, "stdin", input)).await
    }

    pub(crate) async fn send(&self, id: &str, kind: &str, input: &str) -> Response {
        let path = format!("/api/v1/execs/{id}/io");
        let body = json!({ "type": kind, "input": input });
        self.request(Method::POST, &path).json(&body).send().await.unwrap()
    }

    pub(crate) async fn signal_exec(&self, id: &str, signal: &str) -> Response {
        let request = self.request(Method::POST, &format!("/api/v1/execs/{id}/signal"));
        within(request.json(&json!({ "signal": signal })).send()).await.unwrap()
    }

    /// Creates an exec of a shell script with an `Idempotency-Key`.
    pub(crate) async fn create_with_key(&self, key: &str, script: &str) -> Response {
        let request = self.request(Method::POST, "/api/v1/execs").header("Idempotency-Key", key);
        let body = json!({ "command": "sh", "args": ["-c", script] });
        within(request.json(&body).send()).await.unwrap()
    }

    /// The output that exists now.
    pub(crate) async fn output_now(&self, id: &str, query: &str) -> Vec<ExecStdout> {
        let path = format!("/api/v1/execs/{id}/io{query}");
        let response = within(self.request(Method::GET, &path).send()).await.unwrap();
        assert_eq!(response.status(), 200);
        within(response.json()).await.unwrap()
    }

    /// The output stream.
    pub(crate) async fn stream(&self, id: &str, query: &str) -> Events {
        Events::of(self, &format!("/api/v1/stream/execs/{id}/io{query}")).await
    }

    /// All output, to its end.
    pub(crate) async fn finish(&self, id: &str) -> Finished {
        let mut stream = self.stream(id, "").await;
        let mut events = Vec::new();
        while let Some(event) = stream.next_output().await {
            events.push(event);
        }
        Finished(events)
    }

    /// Runs a shell script to its end.
    pub(crate) async fn run(&self, script: &str) -> Finished {
        let exec = self.sh(script).await;
        self.finish(&exec.id).await
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if std::thread::panicking() {
            report::tell();
        }
        // It stops its execs; one that does not is a failure of the test that asks for that.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.signal(Signal::SIGTERM);
            self.signal(Signal::SIGTERM);
            if wait::end_of(&mut self.process).is_none() {
                let told = report::processes(self.pid());
                let _killed = self.process.kill();
                assert!(std::thread::panicking(), "the agent does not end:\n{told}");
            }
        }
        report::forget(&self.launched);
    }
}

/// An agent's command line on a free port, without tokens.
pub(crate) fn agent_command(state: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .args(["--listen", "127.0.0.1:0", "--state-dir"])
        .arg(state)
        .env_remove("SANDPIPE_ADMIN_TOKEN")
        .env_remove("SANDPIPE_READONLY_TOKEN")
        .stdin(Stdio::null());
    command
}

/// A client that uses no connection again that the agent may be closing: it does so when nothing has come on it for 30 s.
fn client() -> Client {
    Client::builder().no_proxy().pool_idle_timeout(Duration::from_secs(20)).build().unwrap()
}

fn with_tokens(state: &Path) -> Command {
    let mut command = agent_command(state);
    command.env("SANDPIPE_ADMIN_TOKEN", ADMIN).env("SANDPIPE_READONLY_TOKEN", READONLY);
    command
}

/// Starts an agent; gives its address, too.
fn launch(mut command: Command) -> (Child, String) {
    let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    report::remember(process.id(), log::Log::of(process.stderr.take().unwrap()));
    let ready = read_ready(&mut process);
    (process, ready["url"].as_str().unwrap().to_owned())
}

/// Has a command run under a limit, as prlimit(1) takes it.
pub(crate) fn under(command: &mut Command, limit: &str) {
    run_by(command, &["prlimit", limit]);
}

/// Has a command run by another program with these arguments.
pub(crate) fn run_by(command: &mut Command, by: &[&str]) {
    let mut wrapped = Command::new(by[0]);
    wrapped.args(&by[1..]).arg("--").arg(command.get_program()).args(command.get_args());
    wrapped.stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    *command = wrapped;
}

/// What an agent says that does not start.
pub(crate) fn refused(command: &mut Command) -> String {
    // One that starts after all ends at once.
    let Output { status, stdout, stderr } = run_to_end(command.arg("--until-stdin-closes"));
    assert!(!status.success());
    assert!(stdout.is_empty(), "nothing but the ready line goes to standard output");
    String::from_utf8(stderr).unwrap()
}

/// Returns whether the tests are root's; says what root would be needed for where they aren't.
pub(crate) fn needs_root(what_for: &str) -> bool {
    needs(geteuid().is_root(), &format!("root, to {what_for}"))
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

pub(crate) async fn status_with(url: &str, token: &str) -> StatusCode {
    answer_with(url, token).await.status()
}

pub(crate) async fn answer_with(url: &str, token: &str) -> Response {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("{url}/api/v1/execs")).bearer_auth(token);
    within(request.send()).await.unwrap()
}

/// The message of an answer that is an error.
pub(crate) async fn message_of(response: Response) -> String {
    let body: Value = within(response.json()).await.unwrap();
    body["message"].as_str().unwrap().to_owned()
}

/// All events of an exec.
pub(crate) struct Finished(pub Vec<ExecStdout>);

impl Finished {
    pub(crate) fn exit_code(&self) -> i32 {
        self.0.last().and_then(|last| last.exit_code).expect("the output has an end")
    }

    /// Both streams, in order of arrival.
    pub(crate) fn output(&self) -> String {
        self.0.iter().map(|event| event.output.as_str()).collect()
    }

    pub(crate) fn stdout(&self) -> String {
        self.of(OutputType::Stdout)
    }

    pub(crate) fn stderr(&self) -> String {
        self.of(OutputType::Stderr)
    }

    fn of(&self, kind: OutputType) -> String {
        let events = self.0.iter().filter(|event| event.kind == kind);
        events.map(|event| event.output.as_str()).collect()
    }

    pub(crate) fn sequences(&self) -> Vec<u64> {
        self.0.iter().map(|event| event.sequence).collect()
    }
}

/// An event stream that is read.
pub(crate) struct Events {
    pub(crate) response: Response,
    decoder: Decoder,
    decoded: std::collections::VecDeque<String>,
}

impl Events {
    pub(crate) async fn of(agent: &Agent, path: &str) -> Self {
        let response = within(agent.request(Method::GET, path).send()).await.unwrap();
        assert_eq!(response.status(), 200);
        Self::in_answer(response)
    }

    pub(crate) fn in_answer(response: Response) -> Self {
        Self { response, decoder: Decoder::default(), decoded: [].into() }
    }

    /// The next event's data; `None` at the end of the stream. A stream that is merely kept awake takes
    /// too long.
    pub(crate) async fn next(&mut self) -> Option<String> {
        let next = async {
            while self.decoded.is_empty() {
                let chunk = self.response.chunk().await.unwrap()?;
                let decoded = &mut self.decoded;
                self.decoder
                    .feed(&chunk, &mut |event| decoded.push_back(event.text().into_owned()))
                    .unwrap();
            }
            self.decoded.pop_front()
        };
        within(next).await
    }

    pub(crate) async fn next_output(&mut self) -> Option<ExecStdout> {
        let data = self.next().await?;
        Some(serde_json::from_str(&data).unwrap())
    }

    /// Reads on to the exit code.
    pub(crate) async fn exit_code(&mut self) -> i32 {
        loop {
            let event = self.next_output().await.expect("the output has an end");
            if let Some(exit_code) = event.exit_code {
                return exit_code;
            }
        }
    }

    /// Reads on until the output so far holds `text`.
    pub(crate) async fn until_output(&mut self, text: &str) -> String {
        let mut output = String::new();
        while !output.contains(text) {
            let event = self.next_output().await;
            output += &event.unwrap_or_else(|| panic!("{text:?} is not in {output:?}")).output;
        }
        output
    }
}
