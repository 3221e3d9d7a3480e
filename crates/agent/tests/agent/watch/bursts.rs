//! Much that happens at once.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
};

use sandpipe_protocol::WatcherEventType::{Add, Change, Overflow, Remove};
use tempfile::TempDir;

use super::{found, watch_path};
use crate::support::{Agent, Events, needs_root, status_of, until};

#[tokio::test]
async fn ten_thousand_changes_in_bursts_are_told_or_an_overflow_is() {
    let directory = TempDir::new().unwrap();
    let root = directory.path().to_owned();
    let agent = Agent::start();
    let mut watch = agent.watch(&root, "recursive=true&extended=true").await;
    let burst = |root: PathBuf, burst: usize| {
        move || {
            for number in 0..250 {
                let path = root.join(format!("{burst} {number}"));
                fs::write(&path, "").unwrap();
                fs::write(&path, "x").unwrap();
                if number % 2 == 0 {
                    fs::remove_file(&path).unwrap();
                }
            }
        }
    };
    let bursts: Vec<_> = (0..16).map(|number| thread::spawn(burst(root.clone(), number))).collect();
    for burst in bursts {
        burst.join().unwrap();
    }
    let told = watch.rest().await;
    assert_eq!(watch.known, found(&root));
    let count = |kind| told.iter().filter(|event| event.kind == kind).count();
    if count(Overflow) == 0 {
        assert_eq!((count(Add), count(Remove)), (4_000, 2_000));
        assert!(count(Change) >= 4_000, "{}", count(Change));
    }
}

#[tokio::test]
async fn a_directory_that_is_made_and_filled_at_once_loses_nothing() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    let agent = Agent::with(|command| _ = command.arg("--workspace").arg(root));
    for query in ["recursive=true", "recursive=true&extended=true"] {
        let mut watch = agent.watch(root, query).await;
        let script = "for i in $(seq 300); do mkdir -p $i/b/c && echo x > $i/b/c/f && ln -s f $i/b/c/l; done";
        agent.run(script).await;
        let told = watch.rest().await;
        assert_eq!(watch.known, found(root));
        // Each is told once, whether it was found or an event has told of it.
        let mut added: Vec<_> =
            told.iter().filter(|event| event.kind == Add).map(|event| &event.paths[0]).collect();
        assert_eq!(added.len(), 300 * 5);
        added.sort();
        added.dedup();
        assert_eq!(added.len(), 300 * 5);
        agent.run("rm -r *").await;
        watch.is_complete().await;
        assert_eq!(watch.overflows, 0);
    }
}

#[tokio::test]
async fn whatever_is_done_the_directory_is_known_in_the_end() {
    for (seed, query) in [(1, "recursive=true"), (2, "recursive=true&extended=true")] {
        let directory = TempDir::new().unwrap();
        let root = directory.path().to_owned();
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        let agent = Agent::start();
        let mut watch = agent.watch(&root, query).await;
        for round in 0..20 {
            // Two at once, so that one moves away what the other works in.
            let threads = [0, 1].map(|thread| {
                let root = root.clone();
                thread::spawn(move || change_at_random(&root, seed * 1000 + round * 2 + thread))
            });
            for thread in threads {
                thread.join().unwrap();
            }
            watch.is_complete().await;
        }
    }
}

/// Makes, moves and removes directories and files of a few names.
fn change_at_random(root: &Path, seed: u64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut random = |below: u64| {
        // xorshift
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    for _ in 0..200 {
        let mut path = || {
            let depth = random(4) + 1;
            (0..depth).fold(root.to_owned(), |path, _| {
                path.join(["a", "b", "c", "d"][usize::try_from(random(4)).unwrap()])
            })
        };
        let (one, other) = (path(), path());
        // Most can't be done.
        let _done = match random(8) {
            0..=2 => fs::create_dir_all(&one),
            3 => fs::write(&one, "x"),
            4..=5 => fs::rename(&one, &other),
            6 => fs::remove_file(&one),
            _ => fs::remove_dir_all(&one),
        };
    }
}

#[tokio::test]
async fn a_reader_that_is_slow_is_told_of_an_overflow_and_takes_no_memory() {
    let directory = TempDir::new().unwrap();
    let root = directory.path().to_owned();
    let agent = Agent::patient(&[]);
    let mut watch = agent.watch(&root, "recursive=true&extended=true").await;
    let memory = |pid: u32| status_of(pid, "VmRSS").unwrap();
    let worker = agent.worker_pids()[0];
    let before = (memory(agent.pid()), memory(worker));
    // Nothing is read meanwhile. The names are long, so that no buffer holds all of it.
    let name = "x".repeat(200);
    for number in 0..20_000 {
        fs::write(root.join(format!("{name} {}", number % 100)), "").unwrap();
        fs::remove_file(root.join(format!("{name} {}", number % 100))).unwrap();
    }
    let after = (memory(agent.pid()), memory(worker));
    assert!(after.0 < before.0 + 16 * 1024, "{before:?} {after:?}");
    assert!(after.1 < before.1 + 16 * 1024, "{before:?} {after:?}");
    fs::create_dir(root.join("d")).unwrap();
    watch.is_complete().await;
    assert!(watch.overflows > 0);
    // What came while events were lost is watched.
    fs::write(root.join("d/x"), "").unwrap();
    watch.tells(&[(Add, &["d/x"])]).await;

    // In the base interface there is no word for it but an error.
    let mut base = Events::of(&agent, &watch_path(&root, "")).await;
    for number in 0..20_000 {
        fs::write(root.join(format!("{name} {}", number % 100)), "").unwrap();
        fs::remove_file(root.join(format!("{name} {}", number % 100))).unwrap();
    }
    let mut last = None;
    while let Some(event) = base.next().await {
        last = Some(event);
    }
    let last = last.unwrap();
    assert!(last.contains("\"error\"") && last.contains("events were lost"), "{last}");
    drop(watch);
    if !needs_root("look into the worker") {
        return;
    }
    until("nothing of it is left", async || inotify_instances(worker) == 0).await;
}

/// How many watches of the system's a process has.
pub(super) fn inotify_instances(pid: u32) -> usize {
    let is_instance = |path: &PathBuf| path.to_string_lossy().contains("inotify");
    crate::support::open_files(pid).iter().filter(|path| is_instance(path)).count()
}
