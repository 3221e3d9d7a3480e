//! `files.watch`: each change is told once and in order, or it is told that some may have been missed.

use std::cell::RefCell;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use sandpipe_client::Error;
use sandpipe_client::files::{
    FileChange, FileChangeType, FilePath, FileWatcher, Target, WatchOptions,
};
use sandpipe_protocol::WatcherEventType;

use crate::agent::watched::Change;
use crate::invariants::ensure;
use crate::runner::{Verdict, check};

/// What whoever watches has seen.
#[derive(Default)]
struct Seen {
    /// How many changes there may have been that nobody told of, since all watches were not set yet.
    ready_at: Option<usize>,
    changes: Vec<FileChange>,
}

#[test]
fn each_change_is_told_once_or_that_some_were_missed() {
    check("watch", |world, random| {
        let seen = Rc::<RefCell<Seen>>::default();
        let shown = seen.clone();
        let target = Target::from(FilePath::parse("d").expect("a path"));
        let mut watcher = FileWatcher::new(world.client().child(), target, WatchOptions::default());
        let (agent, executor) = (world.agent.clone(), world.executor.clone());
        let mut random = random.fork();
        let settling_ms = if world.setup.is_calm() { 1_000.0 } else { 600_000.0 };
        let failed = world.run(async move {
            let reading = async {
                loop {
                    let changes = match watcher.next_changes().await {
                        Ok(changes) => changes,
                        Err(error) => return error,
                    };
                    let mut seen = shown.borrow_mut();
                    if changes.is_empty() {
                        assert_eq!(seen.ready_at, None, "a batch of nothing");
                        seen.ready_at = Some(agent.watched.changes().len());
                    }
                    seen.changes.extend(changes);
                }
            };
            let changing = async {
                for number in 0..random.usize(..12) {
                    agent.watched.change(change(number, &mut random));
                    // Some come together.
                    let max_ms = [0.0, 5.0, 3_000.0][random.usize(..3)];
                    executor.sleep(random.f64() * max_ms).await;
                }
                executor.sleep(settling_ms).await;
            };
            match select(pin!(reading), pin!(changing)).await {
                Either::Left((error, _)) => Some(error),
                Either::Right(_) => None,
            }
        })?;
        let truth = world.agent.watched.changes();
        let is_survivable = world.setup.is_survivable();
        let mut seen = seen.take();
        if world.setup.is_calm() && seen.ready_at.is_some() {
            // There is one stream, and all of it arrives.
            seen.ready_at = Some(world.agent.watched.first_stream());
        }
        is_true(&seen, &truth, failed.is_none() && is_survivable)?;
        match failed {
            None => {}
            Some(error) if matches!(*error, Error::Unsupported { .. }) => {
                let says_nothing = world.setup.features.is_empty();
                let can_watch = world.setup.offers("watch") || says_nothing;
                ensure!(!can_watch || !is_survivable, "the agent can watch");
            }
            Some(error) => ensure!(!is_survivable, "not survived: {error}"),
        }
        Ok(())
    });
}

/// A change that no other is like.
fn change(number: usize, random: &mut fastrand::Rng) -> Change {
    let path = |name: &str| format!("/workspace/d/{name}{number}");
    let is_lost = random.u8(..8) == 0;
    let (kind, paths) = match random.u8(..4) {
        0 => (WatcherEventType::Add, vec![path("a")]),
        1 => (WatcherEventType::Change, vec![path("a")]),
        2 => (WatcherEventType::Remove, vec![path("a")]),
        _ => (WatcherEventType::Rename, vec![path("from"), path("to")]),
    };
    Change { kind, paths, is_lost }
}

/// Whether it is told of all changes, or that some were missed, up to the last one where it `is_whole`.
fn is_true(seen: &Seen, truth: &[Change], is_whole: bool) -> Verdict {
    // The first change that may come next, and whether any behind it may, too.
    let mut next = 0;
    let mut may_skip = seen.ready_at.unwrap_or(truth.len());
    for told in &seen.changes {
        ensure!(seen.ready_at.is_some(), "a change before all watches are set");
        if told.kind == FileChangeType::Overflow {
            may_skip = truth.len();
            continue;
        }
        let place = truth.iter().position(|change| is_told(change, told));
        let Some(place) = place else {
            return Err(format!("{told:?} did not happen"));
        };
        ensure!(place >= next, "{told:?} comes again, or late");
        ensure!(place <= next.max(may_skip), "{told:?} comes, and nothing of {:?}", truth[next]);
        (next, may_skip) = (place + 1, 0);
    }
    let is_told = next.max(may_skip) >= truth.len();
    ensure!(is_told || !is_whole, "nothing is said of {:?}", &truth[next..]);
    Ok(())
}

fn is_told(change: &Change, told: &FileChange) -> bool {
    let kind = match change.kind {
        WatcherEventType::Add => FileChangeType::Add,
        WatcherEventType::Change => FileChangeType::Change,
        WatcherEventType::Remove => FileChangeType::Remove,
        _ => FileChangeType::Rename,
    };
    let mut paths = vec![told.path.clone()];
    paths.extend(told.to.clone());
    !change.is_lost && kind == told.kind && change.paths == paths
}
