//! What stopped an exec, and where and under which policy it runs: told in lists and of the exec alone, also by an agent that was
//! started again.

use nix::sys::signal::Signal;
use sandpipe_protocol::{ExecItem, ExecStatus};
use serde_json::json;

use crate::support::{Agent, until};

async fn ended(agent: &Agent, id: &str) -> ExecItem {
    agent.finish(id).await;
    agent.get(id).await
}

fn told(exec: &ExecItem) -> (ExecStatus, Option<&str>) {
    (exec.status.clone(), exec.stop_reason.as_deref())
}

#[tokio::test]
async fn an_exec_tells_what_stopped_it() {
    let mut agent = Agent::with_args(&["--max-output", "10KiB", "--max-cpu-time", "1s"]);
    let alone = agent.sh("exit 3").await;
    let alone = ended(&agent, &alone.id).await;
    assert_eq!(told(&alone), (ExecStatus::Exited, None));

    let stopped = agent.sh("trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done").await;
    agent.stream(&stopped.id, "").await.until_output("up").await;
    assert_eq!(told(&agent.get(&stopped.id).await), (ExecStatus::Running, None));
    agent.signal_exec(&stopped.id, "SIGTERM").await;
    let stopped = ended(&agent, &stopped.id).await;
    assert_eq!(told(&stopped), (ExecStatus::Stopped, Some("client")));

    // A signal that stops nothing, and one that comes too late.
    let interrupted = agent.sh("trap 'exit 5' INT; echo up; while :; do sleep 0.01; done").await;
    agent.stream(&interrupted.id, "").await.until_output("up").await;
    agent.signal_exec(&interrupted.id, "SIGINT").await;
    let interrupted = ended(&agent, &interrupted.id).await;
    assert_eq!(told(&interrupted), (ExecStatus::Exited, None));
    let left = agent.sh("exit 6").await;
    agent.finish(&left.id).await;
    agent.signal_exec(&left.id, "SIGTERM").await;
    let left = agent.get(&left.id).await;
    assert_eq!(told(&left), (ExecStatus::Exited, None));

    let loud = agent.sh("exec yes").await;
    let loud = ended(&agent, &loud.id).await;
    assert_eq!(told(&loud), (ExecStatus::Stopped, Some("output")));
    // The kernel ends it, and no signal of the agent's.
    let busy = agent.sh("while :; do :; done").await;
    let busy = ended(&agent, &busy.id).await;
    assert_eq!(told(&busy), (ExecStatus::Exited, Some("cpuTime")));

    let running = agent.sh("exec sleep 600").await;
    agent.signal(Signal::SIGTERM);
    agent.ended().await;
    agent.restart();
    let list = agent.list().await;
    for exec in [&alone, &stopped, &interrupted, &left, &loud, &busy] {
        assert_eq!(&agent.get(&exec.id).await, exec);
        assert!(list.contains(exec), "{exec:?} is not in {list:?}");
    }
    assert_eq!(told(&agent.get(&running.id).await), (ExecStatus::Stopped, Some("agent")));
}

#[tokio::test]
async fn of_a_limit_and_a_client_that_tried_before_the_limit_is_told() {
    let agent = Agent::with_args(&["--max-wall-time", "10s"]);
    let stubborn = agent.sh("trap '' TERM; echo up; while :; do sleep 0.01; done").await;
    agent.stream(&stubborn.id, "").await.until_output("up").await;
    agent.signal_exec(&stubborn.id, "SIGTERM").await;
    assert_eq!(told(&agent.get(&stubborn.id).await), (ExecStatus::Stopping, Some("client")));
    let stubborn = ended(&agent, &stubborn.id).await;
    assert_eq!(told(&stubborn), (ExecStatus::Stopped, Some("wallTime")));
}

#[tokio::test]
async fn an_exec_tells_where_it_runs_and_under_which_policy() {
    let mut agent = Agent::start();
    let usual = agent.sh("pwd").await;
    let there = agent.create(json!({ "command": "pwd", "args": [], "cwd": "/usr" })).await;
    assert_eq!(there.cwd.as_deref(), Some("/usr"));
    assert_eq!(there.policy.as_deref(), Some("open"));
    // One that a list has no room for is whole in the exec.
    let args = ["x".repeat(400)];
    let long = agent.create(json!({ "command": "true", "args": args, "cwd": "/usr" })).await;
    for exec in [&usual, &there, &long] {
        agent.finish(&exec.id).await;
    }
    let usual = agent.get(&usual.id).await;
    let printed = agent.finish(&usual.id).await.stdout();
    assert_eq!(usual.cwd.as_deref(), Some(printed.trim_end()));
    let listed =
        |list: Vec<ExecItem>, id: &str| list.into_iter().find(|exec| exec.id == id).unwrap();
    for _ in 0..2 {
        assert_eq!(listed(agent.list().await, &there.id).cwd.as_deref(), Some("/usr"));
        let short = listed(agent.list().await, &long.id);
        assert_eq!((short.cwd, short.args_truncated), (None, Some(true)));
        assert_eq!(agent.get(&long.id).await.cwd.as_deref(), Some("/usr"));
        assert_eq!(agent.get(&there.id).await.policy.as_deref(), Some("open"));
        agent.kill();
        agent.restart();
    }
}

#[tokio::test]
async fn an_end_that_comes_between_a_signal_and_its_answer_has_a_reason() {
    let agent = Agent::start();
    for _ in 0..20 {
        let exec = agent.sh("exec sleep 600").await;
        agent.signal_exec(&exec.id, "SIGKILL").await;
        until("it has ended", async || agent.get(&exec.id).await.exit_code == 137).await;
        assert_eq!(told(&agent.get(&exec.id).await), (ExecStatus::Stopped, Some("client")));
    }
}
