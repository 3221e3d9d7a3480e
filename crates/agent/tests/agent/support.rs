//! A running agent, and what tests ask of it.

use std::{
    future::Future,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    str::FromStr,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode};
use sandpipe_protocol::{ExecItem, ExecListResponse, ExecStdout, OutputType, sse::Decoder};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const ADMIN: &str = "admin-token-of-the-tests";
pub(crate) const READONLY: &str = "readonly-token-of-the-tests";

/// How long anything may take before the test fails.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(1);

/// An agent that ends with the test.
pub(crate) struct Agent {
    pub(crate) process: Child,
    pub(crate) url: String,
    pub(crate) state: PathBuf,
    client: Client,
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
        let client = Client::builder().no_proxy().build().unwrap();
        Self { process, url, state, client, _directory: directory }
    }

    /// Starts one with these flags more.
    pub(crate) fn with_args(args: &[&str]) -> Self {
        Self::with(|command| _ = command.args(args))
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
    }

    /// Kills it as nothing else can be killed.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// The process that has its commands.
    pub(crate) fn box_pid(&self) -> u32 {
        // Behind walls it is the program that has built them.
        let is_box = |pid: &u32| {
            std::fs::read_to_string(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| line.contains("\0box\0"))
        };
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
        self.client = Client::builder().no_proxy().build().unwrap();
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
        // It stops its execs; one that does not is a failure of the test that asks for that.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.signal(Signal::SIGTERM);
            self.signal(Signal::SIGTERM);
            let _ended = self.process.wait();
        }
    }
}

/// An agent's command line on a free port, without tokens.
pub(crate) fn agent_command(state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sandpipe-agent"));
    command
        .args(["--listen", "127.0.0.1:0", "--state-dir"])
        .arg(state)
        .env_remove("SANDPIPE_ADMIN_TOKEN")
        .env_remove("SANDPIPE_READONLY_TOKEN")
        .stdin(Stdio::null());
    command
}

fn with_tokens(state: &Path) -> Command {
    let mut command = agent_command(state);
    command.env("SANDPIPE_ADMIN_TOKEN", ADMIN).env("SANDPIPE_READONLY_TOKEN", READONLY);
    command
}

/// Starts an agent; gives its address, too.
fn launch(mut command: Command) -> (Child, String) {
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
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

/// Reads the line that says that an agent is ready.
pub(crate) fn read_ready(process: &mut Child) -> Value {
    let mut line = String::new();
    BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap_or_else(|_| panic!("the agent said {line:?}"))
}

/// What an agent says that does not start.
pub(crate) fn refused(command: &mut Command) -> String {
    // One that starts after all ends at once.
    let Output { status, stdout, stderr } = command.arg("--until-stdin-closes").output().unwrap();
    assert!(!status.success());
    assert!(stdout.is_empty(), "nothing but the ready line goes to standard output");
    String::from_utf8(stderr).unwrap()
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

pub(crate) async fn status_with(url: &str, token: &str) -> StatusCode {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.get(format!("{url}/api/v1/execs")).bearer_auth(token);
    request.send().await.unwrap().status()
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

/// Fails where something takes too long.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(TIMEOUT, future).await.expect("it takes too long")
}

/// Waits until a condition is true.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + TIMEOUT;
    while !condition().await {
        assert!(tokio::time::Instant::now() < deadline, "it did not come true that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process exists and is no zombie.
pub(crate) fn lives(pid: u32) -> bool {
    state_of(pid).is_some_and(|state| state != 'Z')
}

/// The state letter in `/proc/PID/stat`.
pub(crate) fn state_of(pid: u32) -> Option<char> {
    stat_of(pid, 0)
}

/// What is in `/proc/PID/stat`, counted from the state on: 1 is the parent, 3 the session.
pub(crate) fn stat_of<T: FromStr>(pid: u32, field: usize) -> Option<T> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(field)?.parse().ok()
}

/// The command line of a process, each argument with a NUL at its end; empty where there is no process.
pub(crate) fn command_line_of(pid: u32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// The number in a line of `/proc/PID/status`.
pub(crate) fn status_of(pid: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// What a process has open.
pub(crate) fn open_files(pid: u32) -> Vec<PathBuf> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok()).collect()
}

/// The ids of all processes.
pub(crate) fn pids() -> impl Iterator<Item = u32> {
    let processes = std::fs::read_dir("/proc").unwrap();
    processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// The variable that marks a command and all that comes of it.
pub(crate) const MARKER: &str = "MARKER_OF_THE_TESTS";

/// A command that is marked.
pub(crate) fn marked_script(script: &str, marker: &str, pty: bool) -> Value {
    json!({ "command": "bash", "args": ["-c", script], "pty": pty, "env": { MARKER: marker } })
}

/// Waits until no living process has this mark.
pub(crate) async fn none_is_left(marker: &str) {
    until("no process is left", async || marked(marker).is_empty()).await;
}

/// The living processes with this mark.
pub(crate) fn marked(marker: &str) -> Vec<u32> {
    let marker = format!("{MARKER}={marker}");
    // The environment of a zombie is empty.
    let is_marked = |pid: u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
    };
    pids().filter(|pid| is_marked(*pid)).collect()
}

/// The processes whose parent is `pid`.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    pids().filter(|child| stat_of(*child, 1) == Some(pid)).collect()
}
