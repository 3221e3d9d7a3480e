//! As many watches as the system allows. A user namespace has a limit of its own.

use std::{fs, process::Command};

use sandpipe_protocol::WatcherEventType::{Add, Error};
use tempfile::TempDir;

use crate::support::{Agent, message_of, needs, run_by};

/// An agent in a user namespace that has so much of it (`user_namespaces(7)`, `/proc/sys/user`); none where there can't be one.
fn agent_with(limit: &str, count: u32) -> Option<Agent> {
    let limit = format!("/proc/sys/user/{limit}");
    let by = ["unshare", "--user", "--map-root-user"];
    let can = Command::new(by[0]).args(&by[1..]).arg("true").status();
    if !needs(can.is_ok_and(|status| status.success()), "user namespaces that this user can make") {
        return None;
    }
    let script = format!("echo {count} > {limit} && exec \"$@\"");
    Some(Agent::with(|command| run_by(command, &[&by[..], &["sh", "-c", &script]].concat())))
}

#[tokio::test]
async fn the_systems_limit_of_watches_is_told() {
    let Some(agent) = agent_with("max_inotify_watches", 10) else { return };
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    for number in 0..9 {
        fs::create_dir(root.join(number.to_string())).unwrap();
    }
    let mut watch = agent.watch(root, "recursive=true").await;
    let refused = agent.try_watch(root, "recursive=true").await;
    assert_eq!(refused.status(), 507);
    let message = message_of(refused).await;
    assert!(message.contains("fs.inotify.max_user_watches"), "{message}");
    // It is not too late to say so.
    fs::create_dir(root.join("more")).unwrap();
    watch.tells(&[(Add, &["more"])]).await;
    let last = watch.next().await.unwrap();
    assert_eq!(last.kind, Error);
    assert!(last.message.unwrap().contains("fs.inotify.max_user_watches"));
    assert_eq!(watch.next().await, None);
    // What it had is free again.
    agent.watch(&root.join("more"), "recursive=true").await;
}

#[tokio::test]
async fn the_systems_limit_of_instances_is_told() {
    let Some(agent) = agent_with("max_inotify_instances", 1) else { return };
    let directory = TempDir::new().unwrap();
    let _watch = agent.watch(directory.path(), "").await;
    let refused = agent.try_watch(directory.path(), "").await;
    assert_eq!(refused.status(), 507);
    let message = message_of(refused).await;
    assert!(message.contains("fs.inotify.max_user_instances"), "{message}");
}
