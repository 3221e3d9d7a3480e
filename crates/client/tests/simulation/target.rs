//! A target for background processes: it answers the client's scripts from a model of what they do, without a shell.
//! Each process is an exec of the simulated agent's, whose command is the script.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::rc::Rc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, select};
use sandpipe_client::background::{RunFailure, Runtime, ScriptResult};
use sandpipe_client::{AbortSignal, HostValue};
use sandpipe_protocol::{CreateExecRequest, OutputType};

use crate::agent::SimAgent;
use crate::agent::exec::Exec;
use crate::executor::{Executor, Owner};
use crate::faults::{Fault, Kind};
use crate::network::Network;
use crate::world::{Trace, World};

/// The directory of the processes.
const HOME: &str = "/tmp/sandpipe-0/default";

/// How often a script looks at a process group, in milliseconds.
const LOOK_INTERVAL_MS: f64 = 250.0;

/// How a runtime fails: what it throws.
#[derive(Debug)]
pub(crate) struct RuntimeFailed;

/// A target, and the runtime that runs scripts there.
pub(crate) struct SimTarget {
    executor: Executor,
    agent: Rc<SimAgent>,
    network: Rc<Network>,
    trace: Rc<Trace>,
    processes: RefCell<BTreeMap<String, SimProcess>>,
}

/// A background process.
#[derive(Clone)]
struct SimProcess {
    exec: Rc<Exec>,
    /// meta.json.
    meta: String,
}

/// A script of the client's, as the target reads it.
struct Script {
    /// What it does.
    operation: &'static str,
    /// What the shell is to carry out, as one word of a shell.
    body: String,
    /// What comes over the descriptors 3, 4 and so on.
    inputs: Vec<String>,
}

impl SimTarget {
    pub(crate) fn new(world: &World) -> Rc<Self> {
        let (executor, agent) = (world.executor.clone(), world.agent.clone());
        let (network, trace) = (world.network.clone(), world.trace.clone());
        let processes = RefCell::default();
        Rc::new(Self { executor, agent, network, trace, processes })
    }
}

/// A handle of the target for the client.
pub(crate) struct SimRuntime(pub(crate) Rc<SimTarget>);

impl Runtime for SimRuntime {
    /// Runs a script to its end, also where nobody waits for that any more.
    fn run(
        &self,
        script: String,
        _signal: Option<&AbortSignal>,
    ) -> LocalBoxFuture<'static, Result<ScriptResult, RunFailure>> {
        let target = self.0.clone();
        let (sender, receiver) = oneshot::channel();
        let fault = target.network.faults.next(target.executor.now_ms(), Kind::Script, "", false);
        let script = Script::parse(&script);
        target.trace.add(|| format!("script: {} {fault:?}", script.operation));
        target.executor.clone().spawn(Owner::Simulation, async move {
            let result = target.run(&script, fault).await;
            // The client may be gone.
            drop(sender.send(result));
        });
        async { receiver.await.expect("the script goes on") }.boxed_local()
    }
}

impl SimTarget {
    async fn run(&self, script: &Script, fault: Option<Fault>) -> Result<ScriptResult, RunFailure> {
        let thrown = |not_run| RunFailure::Thrown { error: HostValue::new(RuntimeFailed), not_run };
        let delay_ms = if let Some(Fault::Delayed(ms)) = fault { ms } else { 0.0 };
        self.executor.sleep(2.0 + delay_ms).await;
        match fault {
            Some(Fault::Refused | Fault::Status { acted: false, .. }) => return Err(thrown(true)),
            Some(Fault::Lost { acted: false }) => return Err(thrown(false)),
            _ => {}
        }
        let (answer, exit_code) = match self.answer(script).await {
            Ok(answer) => (answer, 0.0),
            Err((kind, message)) => (vec![(kind, message)], 1.0),
        };
        let nonce = script.setting("nonce") + &script.setting("nonce2");
        let mut output = "noise of the target's\n".to_owned();
        for (name, text) in answer.iter().chain([&("end", String::new())]) {
            write!(output, "\n{nonce}:{name}\n{text}").expect("a string has room");
        }
        match fault {
            Some(Fault::Lost { .. } | Fault::Status { .. }) => return Err(thrown(false)),
            Some(Fault::Page) => return Err(RunFailure::NoResult),
            Some(Fault::Cut { after, .. } | Fault::Stall { after, .. }) => {
                output.truncate(output.floor_char_boundary(after.min(output.len())));
            }
            Some(Fault::Late(ms)) => self.executor.sleep(ms).await,
            _ => {}
        }
        Ok(ScriptResult { exit_code, output })
    }

    /// The sections of the answer to a script, or the kind of a failure and its message.
    async fn answer(&self, script: &Script) -> Answer {
        match script.operation {
            "spawn" => return Ok(self.spawn(script)),
            "list" => return Ok(self.list()),
            _ => {}
        }
        let missing = || ("missing", String::new());
        let id = script.setting("id");
        let process = self.processes.borrow().get(&id).cloned().ok_or_else(missing)?;
        let exec = &process.exec;
        match script.operation {
            "terminate" => {
                self.end_group(exec, "TERM", script.number("grace")).await;
                self.end_group(exec, "KILL", 10_000.0).await;
            }
            "wait" => {
                let end = exec.wait_for(|state| state.has_ended().then_some(())).boxed_local();
                select(end, self.executor.sleep(script.number("wait"))).await;
                if !exec.state().has_ended() && script.setting("last").is_empty() {
                    return Ok(vec![("waiting", String::new())]);
                }
            }
            "read_output" => return Ok(self.read_output(&process, &id, script).await),
            "remove" => {
                if exec.state().has_processes(self.executor.now_ms()) {
                    return Err(("running", "it is still running".to_owned()));
                }
                self.processes.borrow_mut().remove(&id);
                return Ok(vec![("removed", String::new())]);
            }
            _ => {}
        }
        let state = process.state_line(&id);
        Ok(vec![("home", HOME.to_owned()), ("state", state), ("meta", process.meta)])
    }

    fn spawn(&self, script: &Script) -> Vec<(&'static str, String)> {
        let (rest, command) = (&script.inputs[0], script.inputs[1].trim_end().to_owned());
        let request = CreateExecRequest { command, ..CreateExecRequest::default() };
        let exec = self.agent.create(request);
        let pid = exec.state().pid;
        let head =
            format!(r#"{{"pid":{pid},"startTime":"1@boot","startedAt":"2026-01-31T12:34:56Z","#);
        let process = SimProcess { exec, meta: format!("{head}\n{rest}") };
        self.processes.borrow_mut().insert(script.setting("id"), process);
        vec![("home", HOME.to_owned()), ("head", head)]
    }

    fn list(&self) -> Vec<(&'static str, String)> {
        let processes = self.processes.borrow();
        let states = processes.iter().map(|(id, process)| process.state_line(id)).collect();
        let metas = processes.values().map(|process| process.meta.replacen('\n', "", 1)).collect();
        vec![("home", HOME.to_owned()), ("states", states), ("metas", metas)]
    }

    /// Sends a signal to a group that is there, and waits so long for its end.
    async fn end_group(&self, exec: &Exec, signal: &str, ms: f64) {
        let deadline = self.executor.now_ms() + ms;
        self.agent.signal(exec, signal);
        while exec.state().has_processes(self.executor.now_ms())
            && self.executor.now_ms() < deadline
        {
            self.executor.sleep(LOOK_INTERVAL_MS).await;
        }
    }

    async fn read_output(
        &self,
        process: &SimProcess,
        id: &str,
        script: &Script,
    ) -> Vec<(&'static str, String)> {
        let stream = script.setting("stream");
        let wanted = |kind| match stream.as_str() {
            "stdout" => kind == OutputType::Stdout,
            "stderr" => kind == OutputType::Stderr,
            _ => true,
        };
        let output = || -> String {
            let state = process.exec.state();
            let events = state.events.iter().filter(|event| wanted(event.kind));
            events.map(|event| event.output.as_str()).collect()
        };
        let from = match script.setting("tail").parse::<usize>() {
            Ok(tail) => {
                let output = output();
                output.ceil_char_boundary(output.len().saturating_sub(tail))
            }
            Err(_) => script.setting("offset").parse().expect("a number"),
        };
        let has_more = process
            .exec
            .wait_for(|state| {
                let events = state.events.iter().filter(|event| wanted(event.kind));
                let size: usize = events.map(|event| event.output.len()).sum();
                (size > from || state.has_ended()).then_some(())
            })
            .boxed_local();
        select(has_more, self.executor.sleep(script.number("wait"))).await;
        let output = output();
        let max: usize = script.setting("max").parse().expect("a number");
        let to = output.floor_char_boundary(output.len().min(from + max)).max(from);
        let text = output.get(from..to).unwrap_or_default().to_owned();
        let window = format!("{from} {to} {}\n", output.len());
        let section = if stream == "stderr" { "stderr" } else { "stdout" };
        vec![("state", process.state_line(id)), ("window", window), (section, text)]
    }
}

/// The sections of an answer, or the kind of a failure and its message.
type Answer = Result<Vec<(&'static str, String)>, (&'static str, String)>;

impl SimProcess {
    fn state_line(&self, id: &str) -> String {
        let state = self.exec.state();
        if state.has_ended() {
            format!("{id} dead {} 2026-01-31T12:35:00Z\n", state.exit_code)
        } else {
            format!("{id} alive - -\n")
        }
    }
}

impl Script {
    fn parse(text: &str) -> Self {
        let (_, text) = text.split_once(" -c '").expect("a shell of its own");
        let (body, rest) = text.split_once("' sandpipe </dev/null 2>&1").expect("a script");
        let (redirections, mut rest) = rest.split_once('\n').expect("a line");
        let mut inputs = Vec::new();
        for redirection in redirections.split_ascii_whitespace() {
            let delimiter = redirection.split('\'').nth(1).expect("a here-document");
            let (input, behind) =
                rest.split_once(&format!("{delimiter}\n")).expect("the document's end");
            inputs.push(input.to_owned());
            rest = behind;
        }
        // Each has a line that no other has.
        let operation = match body {
            body if body.contains("\nabandon() {\n") => "spawn",
            body if body.contains("section states\n") => "list",
            body if body.contains("\nlived=$life\n") => "terminate",
            body if body.contains("section waiting\n") => "wait",
            body if body.contains("section window\n") => "read_output",
            body if body.contains("section removed\n") => "remove",
            _ => "get",
        };
        Self { operation, body: format!("\n{body}"), inputs }
    }

    /// What a variable is set to; nothing if it is not.
    fn setting(&self, name: &str) -> String {
        let begin = format!("\n{name}=");
        let value = self.body.split_once(&begin).and_then(|(_, rest)| rest.lines().next());
        value.unwrap_or_default().replace(r"'\''", "")
    }

    fn number(&self, name: &str) -> f64 {
        self.setting(name).parse().expect("a number")
    }
}
