//! What is moved within a watched directory, into it, and out of it.

use std::{fs, path::Path};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use sandpipe_protocol::WatcherEventType::{Add, Change, Remove, Rename};
use tempfile::TempDir;

use crate::support::{Agent, state_of, until};

/// Makes a directory with something in it.
fn fill(directory: &Path) {
    fs::create_dir_all(directory.join("below/deep")).unwrap();
    fs::write(directory.join("below/x"), "").unwrap();
}

#[tokio::test]
async fn a_move_is_one_event() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("a"), "").unwrap();
    fs::write(root.join("over"), "").unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true&extended=true").await;
    fs::rename(root.join("a"), root.join("b")).unwrap();
    fs::rename(root.join("b"), root.join("d/c")).unwrap();
    fs::rename(root.join("d/c"), root.join("over")).unwrap();
    watch
        .tells(&[(Rename, &["a", "b"]), (Rename, &["b", "d/c"]), (Rename, &["d/c", "over"])])
        .await;
    watch.is_complete().await;
}

#[tokio::test]
async fn in_the_base_interface_a_move_is_two_events() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fs::write(root.join("a"), "").unwrap();
    fill(&root.join("d"));
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true").await;
    fs::rename(root.join("a"), root.join("b")).unwrap();
    watch.tells(&[(Remove, &["a"]), (Add, &["b"])]).await;
    // With what is in it, which is at another path now.
    fs::rename(root.join("d"), root.join("e")).unwrap();
    watch.tells(&[(Remove, &["d"]), (Add, &["e"]), (Add, &["e/below"])]).await;
    watch.is_complete().await;
}

#[tokio::test]
async fn a_directory_that_is_moved_within_is_watched_under_its_new_path() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fill(&root.join("a"));
    fs::create_dir(root.join("other")).unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true&extended=true").await;
    fs::rename(root.join("a"), root.join("other/b")).unwrap();
    watch.tells(&[(Rename, &["a", "other/b"])]).await;
    fs::write(root.join("other/b/below/deep/new"), "").unwrap();
    watch.tells(&[(Add, &["other/b/below/deep/new"]), (Change, &["other/b/below/deep/new"])]).await;
    // Another one at its old place is another one.
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/y"), "").unwrap();
    watch.tells(&[(Add, &["a"]), (Add, &["a/y"])]).await;
    // Over an empty one.
    watch.rest().await;
    fs::create_dir(root.join("empty")).unwrap();
    watch.tells(&[(Add, &["empty"])]).await;
    fs::rename(root.join("other/b"), root.join("empty")).unwrap();
    watch.tells(&[(Rename, &["other/b", "empty"])]).await;
    fs::remove_file(root.join("empty/below/x")).unwrap();
    watch.tells(&[(Remove, &["empty/below/x"])]).await;
    watch.is_complete().await;
}

#[tokio::test]
async fn a_directory_that_is_moved_out_is_not_watched_any_more() {
    let (directory, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let root = directory.path();
    fill(&root.join("a"));
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true&extended=true").await;
    fs::rename(root.join("a"), outside.path().join("a")).unwrap();
    fs::write(outside.path().join("a/below/y"), "").unwrap();
    watch.tells(&[(Remove, &["a"])]).await;
    fs::write(outside.path().join("a/below/z"), "").unwrap();
    assert_eq!(watch.rest().await, []);
    // Back again it is new, with all that is in it.
    fs::rename(outside.path().join("a"), root.join("b")).unwrap();
    watch.tells(&[(Add, &["b"]), (Add, &["b/below"])]).await;
    watch.is_complete().await;
    fs::write(root.join("b/below/deep/w"), "").unwrap();
    watch.tells(&[(Add, &["b/below/deep/w"])]).await;
}

#[tokio::test]
async fn a_directory_that_leaves_one_which_is_moved_itself_keeps_its_contents() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    for path in ["b/a/b", "c/b"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    let agent = Agent::start();
    for query in ["recursive=true&extended=true", "recursive=true"] {
        let mut watch = agent.watch(root, query).await;
        let worker = agent.worker_pids()[0];
        let signal = |signal| kill(Pid::from_raw(worker.cast_signed()), signal).unwrap();
        // The worker reads the events after the last change. The first one is about `d`, which then
        // holds what was `b`, and `a` is in neither any more.
        signal(Signal::SIGSTOP);
        until("the worker is stopped", async || is_stopped(worker)).await;
        fs::create_dir(root.join("d")).unwrap();
        fs::rename(root.join("b/a"), root.join("c/b/b")).unwrap();
        fs::rename(root.join("b"), root.join("d/a")).unwrap();
        signal(Signal::SIGCONT);
        watch.is_complete().await;
        fs::rename(root.join("d/a"), root.join("b")).unwrap();
        fs::rename(root.join("c/b/b"), root.join("b/a")).unwrap();
        fs::remove_dir(root.join("d")).unwrap();
        watch.is_complete().await;
    }
}

/// Whether all threads of a process are stopped.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    threads.map(|thread| thread.unwrap().file_name()).all(|thread| {
        let id = thread.to_str().unwrap().parse().unwrap();
        state_of(id) == Some('T')
    })
}

#[tokio::test]
async fn what_is_moved_on_and_on_is_found_where_it_is_in_the_end() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true&extended=true").await;
    for round in 0..100 {
        fs::create_dir(root.join("a")).unwrap();
        fs::create_dir(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/x"), "").unwrap();
        fs::rename(root.join("a"), root.join("c")).unwrap();
        fs::create_dir(root.join("a")).unwrap();
        fs::rename(root.join("c/b"), root.join("a/b")).unwrap();
        let end = format!("end {round}");
        fs::rename(root.join("a"), root.join(&end)).unwrap();
        fs::write(root.join(&end).join("b/y"), "").unwrap();
        fs::remove_dir(root.join("c")).unwrap();
    }
    watch.is_complete().await;
    assert_eq!(watch.overflows, 0);
    for round in 0..100 {
        fs::write(root.join(format!("end {round}/b/z")), "").unwrap();
    }
    watch.is_complete().await;
}
