//! The ends of a watch.

use std::fs;

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use sandpipe_protocol::WatcherEventType::{Add, Error};
use tempfile::TempDir;

use super::{Watch, bursts::inotify_instances};
use crate::support::{Agent, lives, needs_root, until};

impl Watch {
    /// Asserts that it ends with an error of this message.
    async fn ends_with(&mut self, message: &str) {
        let mut last = None;
        while let Some(event) = self.next().await {
            last = Some(event);
        }
        let last = last.expect("its end is told");
        assert_eq!(last.kind, Error);
        let told = last.message.unwrap();
        assert!(told.contains(message), "{told}");
    }
}

#[tokio::test]
async fn the_end_of_the_directory_is_told() {
    let directory = TempDir::new().unwrap();
    let agent = Agent::start();
    for query in ["", "recursive=true&extended=true"] {
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        let mut watch = agent.watch(&root, query).await;
        fs::remove_dir_all(&root).unwrap();
        watch.ends_with("was removed").await;
        fs::create_dir_all(&root).unwrap();
        let mut watch = agent.watch(&root, query).await;
        fs::write(root.join("x"), "").unwrap();
        fs::rename(&root, directory.path().join("moved")).unwrap();
        watch.tells(&[(Add, &["x"])]).await;
        watch.ends_with("was moved").await;
        fs::remove_dir_all(directory.path().join("moved")).unwrap();
    }
    if !needs_root("look into the worker") {
        return;
    }
    let worker = agent.worker_pids()[0];
    until("nothing of it is left", async || inotify_instances(worker) == 0).await;
}

#[tokio::test]
async fn ends_with_its_client() {
    if !needs_root("look into the worker") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let agent = Agent::start();
    let mut watches = Vec::new();
    for _ in 0..20 {
        watches.push(agent.watch(directory.path(), "").await);
    }
    let worker = agent.worker_pids()[0];
    assert_eq!(inotify_instances(worker), 20);
    // Nothing happens that it would be told of.
    watches.truncate(3);
    until("those of the others are left", async || inotify_instances(worker) == 3).await;
    fs::write(directory.path().join("x"), "").unwrap();
    for watch in &mut watches {
        watch.tells(&[(Add, &["x"])]).await;
    }
}

#[tokio::test]
async fn ends_with_the_agent_however_that_ends() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let directory = TempDir::new().unwrap();
        let mut agent = Agent::start();
        let mut watch = agent.watch(directory.path(), "").await;
        let worker = agent.worker_pids()[0];
        agent.signal(signal);
        agent.ended().await;
        until("the worker has ended", async || !lives(worker)).await;
        if signal == Signal::SIGTERM {
            assert_eq!(watch.next().await, None);
        }
    }
}

#[tokio::test]
async fn the_end_of_the_worker_is_told() {
    let directory = TempDir::new().unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(directory.path(), "").await;
    let worker = agent.worker_pids()[0];
    kill(Pid::from_raw(worker.cast_signed()), Signal::SIGKILL).unwrap();
    watch.ends_with("has ended").await;
    // Another can be had. What the dying one was asked for would be lost with it.
    until("it is dead", async || !lives(worker)).await;
    let mut watch = agent.watch(directory.path(), "").await;
    fs::write(directory.path().join("x"), "").unwrap();
    watch.tells(&[(Add, &["x"])]).await;
}
