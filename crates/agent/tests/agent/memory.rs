//! What the agent keeps in memory.

use serde_json::json;

use crate::support::{Agent, message_of, status_of};

const MIB: usize = 1 << 20;

/// The agent's memory in bytes.
fn memory_of(agent: &Agent) -> usize {
    usize::try_from(status_of(agent.pid(), "VmRSS").unwrap()).unwrap() * 1024
}

#[tokio::test]
async fn of_arguments_and_an_environment_of_any_size_little_is_kept() {
    let agent = Agent::start();
    let text = "x".repeat(15 * MIB);
    let before = memory_of(&agent);
    let mut ids = Vec::new();
    for number in 0..20 {
        let request = match number % 3 {
            0 => json!({ "command": "true", "args": ["first", text] }),
            1 => json!({ "command": "true", "args": [], "env": { "TEXT": text } }),
            _ => json!({ "command": text, "args": [] }),
        };
        let exec = agent.create(request).await;
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 126);
        assert!(finished.stderr().contains("too long"), "{}", finished.stderr());
        ids.push(exec.id);
    }
    let list = agent.list().await;
    let grown = memory_of(&agent).saturating_sub(before);
    assert!(grown < 40 * MIB, "it grew by {} MiB", grown / MIB);

    assert_eq!(list.len(), 20);
    let first = agent.get(&ids[0]).await;
    assert_eq!(first.args, ["first", "[1 more arguments, 15728640 bytes]"]);
    assert!(agent.get(&ids[2]).await.command.starts_with("xxx"));
    assert!(serde_json::to_vec(&list).unwrap().len() < MIB);
    for id in &ids {
        let record = agent.state.join("execs").join(id).join("exec.json");
        assert!(record.metadata().unwrap().len() < 200_000);
    }
}

#[tokio::test]
async fn an_exec_that_waits_for_its_start_may_not_be_large() {
    let agent = Agent::start();
    let waiting = |text: &str| json!({ "command": "true", "args": [], "env": { "TEXT": text }, "autostart": false });
    let refused = agent.try_create(waiting(&"x".repeat(MIB))).await;
    assert_eq!(refused.status(), 413);
    assert!(message_of(refused).await.contains("autostart"));
    assert_eq!(agent.list().await, []);
    // It is refused where it would be kept, and not where it can't be run.
    let exec = agent.create(waiting(&"x".repeat(MIB / 2))).await;
    assert_eq!(agent.start_exec(&exec.id).await.status(), 200);
    assert_eq!(agent.finish(&exec.id).await.exit_code(), 126);
}
