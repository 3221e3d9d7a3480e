//! Simulation of a [`Watcher`] over a real directory. A seed decides what changes there, and when:
//! while events wait, and between two system calls of the watcher.

mod client;
mod disk;
mod random;
mod scenarios;

use std::{
    cell::RefCell,
    collections::BTreeSet,
    env,
    fmt::Write as _,
    fs,
    os::fd::{AsFd, AsRawFd},
    path::{Path, PathBuf},
    rc::Rc,
    thread,
    time::Instant,
};

use tempfile::TempDir;

use self::{
    client::{Client, Known},
    disk::{Disk, Log, found},
    random::Random,
};
use super::{
    Changes, Scope, Watcher,
    disk::{id_of, open_root},
    meanwhile,
    move_queue::PAIR_TIMEOUT,
    watcher::Progress,
};
use crate::ignore_patterns::IgnorePatterns;

/// Number of seeds for each [`Kind`], unless `WATCH_SEEDS` says another. `SIMULATION_START` is the
/// first one.
const SEEDS: u64 = 50;
/// Number of threads. Most of the time the system waits before it closes an inotify instance.
const THREADS: u64 = 8;
/// Number of comparisons for each seed.
const ROUNDS: usize = 3;
/// Number of changes before a comparison.
const CHANGES: usize = 60;

/// Options of a client.
#[derive(Debug)]
struct Kind {
    tells_renames: bool,
    ignored: &'static [&'static str],
}

const EXTENDED: Kind = Kind { tells_renames: true, ignored: &[] };
const KINDS: [Kind; 3] = [
    EXTENDED,
    Kind { tells_renames: false, ignored: &[] },
    Kind { tells_renames: true, ignored: &["a/b", "*/c/a", "b/b/*"] },
];

/// A watcher with its client and its directory.
struct Simulation {
    disk: Rc<RefCell<Disk>>,
    known: Rc<RefCell<Known>>,
    watcher: Watcher,
    client: Client,
    /// Virtual time.
    now: Instant,
    _directories: [TempDir; 2],
}

impl Simulation {
    fn new(seed: u64, kind: &Kind, prepare: impl FnOnce(&Path)) -> Self {
        let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [root, outside] = directories.each_ref().map(|directory| directory.path().to_owned());
        prepare(&root);
        let ignore = IgnorePatterns::new(kind.ignored.iter().copied()).unwrap();
        let known = Known { paths: found(&root, &ignore).0, changes: Vec::new() };
        let (known, log) = (Rc::new(RefCell::new(known)), Log::default());
        let tells_renames = kind.tells_renames;
        let scope = Scope { root: root.clone(), recursive: true, ignore, tells_renames };
        Self {
            watcher: Watcher::start(scope).unwrap(),
            client: Client::new(known.clone(), log.clone()),
            disk: Rc::new(RefCell::new(Disk::new(root, outside, seed, log))),
            known,
            now: Instant::now(),
            _directories: directories,
        }
    }

    /// Returns the watched directory, and one outside of it.
    fn paths(&self) -> (PathBuf, PathBuf) {
        let disk = self.disk.borrow();
        (disk.root.clone(), disk.outside.clone())
    }

    fn advance(&mut self) -> Progress {
        let (root, _) = self.paths();
        let mut changes = Changes::new(&mut self.client, root);
        let progress = self.watcher.advance(self.now, &mut changes).unwrap();
        changes.flush().unwrap();
        progress
    }

    /// Handles all events.
    fn settle(&mut self) {
        loop {
            match self.advance() {
                Progress::Made => {}
                Progress::Idle(Some(until)) => self.now = until,
                Progress::Idle(None) => return,
            }
        }
    }

    /// Compares the knowledge of the client and of the watcher with the disk.
    fn differences(&self) -> String {
        let (root, _) = self.paths();
        let Watcher { tree, scope, .. } = &self.watcher;
        let (found, directories) = found(&root, &scope.ignore);
        let known = &self.known.borrow().paths;
        let is_right = |path: &Path, watch| open_root(path).and_then(id_of).ok() == tree.id(watch);
        let in_tree =
            tree.watches().filter_map(|watch| Some((root.join(tree.path(watch)?), watch)));
        let watched: BTreeSet<_> =
            in_tree.filter(|(path, watch)| is_right(path, *watch)).map(|(path, _)| path).collect();
        let mut differences = String::new();
        let mut compare = |name: &str, one: &BTreeSet<PathBuf>, other: &BTreeSet<PathBuf>| {
            let paths: Vec<_> = one.difference(other).collect();
            if !paths.is_empty() {
                writeln!(differences, "{name}: {paths:?}").unwrap();
            }
        };
        compare("lost", &found, known);
        compare("stale", known, &found);
        compare("not watched", &directories, &watched);
        compare("watched", &watched, &directories);
        let counts = [self.watches(), tree.watches().count(), directories.len()];
        if counts != [directories.len(); 3] {
            writeln!(differences, "watches of the system, in the tree, and needed: {counts:?}")
                .unwrap();
        }
        differences
    }

    /// Counts the watches that the system has for the watcher.
    fn watches(&self) -> usize {
        let fd = self.watcher.inotify.as_fd().as_raw_fd();
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{fd}")).unwrap();
        info.lines().filter(|line| line.starts_with("inotify ")).count()
    }
}

/// Runs one seed; returns the differences at its end.
fn run(seed: u64, kind: &Kind) -> String {
    let mut simulation = Simulation::new(seed, kind, |root| {
        fs::create_dir_all(root.join("a/b/c")).unwrap();
        fs::create_dir_all(root.join("b/a")).unwrap();
    });
    let mut random = Random::new(seed ^ 0xABCD_EF01);
    for round in 0..ROUNDS as u64 {
        let disk = simulation.disk.clone();
        disk.borrow_mut().left = CHANGES;
        let mut chance = Random::new(seed ^ (round << 32) ^ 0x1234_5678);
        // Some rounds have many changes between system calls, some have few.
        let rareness = 2 + random.below(20);
        let changing = disk.clone();
        meanwhile::set(move || {
            if chance.below(rareness) == 0 {
                changing.borrow_mut().change();
            }
        });
        let lateness = 2 + random.below(6);
        while disk.borrow().left > 0 {
            match random.below(lateness) {
                0 => _ = simulation.advance(),
                1 if random.below(4) == 0 => simulation.now += PAIR_TIMEOUT / 2,
                _ => disk.borrow_mut().change(),
            }
        }
        meanwhile::clear();
        simulation.settle();
        let differences = simulation.differences();
        let log = &disk.borrow().log;
        if !differences.is_empty() {
            return format!("{differences}{}\n", log.borrow().join("\n"));
        }
        log.borrow_mut().clear();
        simulation.known.borrow_mut().changes.clear();
    }
    String::new()
}

fn number(name: &str, default: u64) -> u64 {
    env::var(name).map_or(default, |number| number.parse().expect("a number"))
}

#[test]
fn reports_every_entry_whatever_changes_meanwhile() {
    let first = number("SIMULATION_START", 1);
    let seeds = number("WATCH_SEEDS", SEEDS);
    let run_every = |thread| {
        let mut failed = Vec::new();
        for seed in (first..first + seeds).filter(|seed| seed % THREADS == thread) {
            for kind in &KINDS {
                let differences = run(seed, kind);
                if !differences.is_empty() {
                    failed.push(format!("SIMULATION_START={seed}, {kind:?}: {differences}"));
                }
            }
        }
        failed
    };
    let mut failed: Vec<_> = thread::scope(|scope| {
        let run_every = &run_every;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || run_every(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = failed.len();
    failed.truncate(3);
    assert!(failed.is_empty(), "{count} of {} failed:\n{}", 3 * seeds, failed.join("\n"));
}
