//! Directories that are watched, over HTTP: real files, and the system's own events.

mod bursts;
mod ends;
mod events;
mod limits;
mod moves;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use reqwest::{Method, Response};
use sandpipe_protocol::{WatcherEvent, WatcherEventType};

use crate::{
    files::encoded,
    support::{Agent, Events, within},
};

/// A directory that is watched.
pub(super) struct Watch {
    pub(super) events: Events,
    root: PathBuf,
    recursive: bool,
    /// What is in it, as far as has been told.
    pub(super) known: BTreeSet<PathBuf>,
    pub(super) overflows: usize,
    sentinels: usize,
}

impl Agent {
    /// Asks to watch a directory.
    pub(super) async fn try_watch(&self, root: &Path, query: &str) -> Response {
        within(self.request(Method::GET, &watch_path(root, query)).send()).await.unwrap()
    }

    /// Watches a directory.
    pub(super) async fn watch(&self, root: &Path, query: &str) -> Watch {
        let events = Events::of(self, &watch_path(root, query)).await;
        let recursive = query.contains("recursive=true");
        let (root, known) = (root.to_owned(), BTreeSet::new());
        let mut watch = Watch { events, root, recursive, known, overflows: 0, sentinels: 0 };
        watch.known = watch.found();
        let connected = watch.next().await.expect("it is connected");
        assert_eq!(connected.kind, WatcherEventType::Connected);
        assert_eq!(connected.paths, [watch.root.to_str().unwrap()]);
        watch
    }
}

pub(super) fn watch_path(root: &Path, query: &str) -> String {
    format!("/api/v1/stream/directories/watcher/{}?{query}", encoded(root))
}

impl Watch {
    /// The next event.
    pub(super) async fn next(&mut self) -> Option<WatcherEvent> {
        let data = self.events.next().await?;
        let event: WatcherEvent = serde_json::from_str(&data).unwrap();
        assert!(humantime::parse_rfc3339(&event.timestamp).is_ok(), "{event:?}");
        let paths: Vec<&Path> = event.paths.iter().map(AsRef::as_ref).collect();
        match event.kind {
            WatcherEventType::Add => _ = self.known.insert(paths[0].to_owned()),
            WatcherEventType::Remove => self.known.retain(|path| !path.starts_with(paths[0])),
            WatcherEventType::Rename => {
                self.known.retain(|path| !path.starts_with(paths[1]));
                let move_path = |path: &PathBuf| match path.strip_prefix(paths[0]) {
                    Ok(rest) if rest.as_os_str().is_empty() => paths[1].to_owned(),
                    Ok(rest) => paths[1].join(rest),
                    Err(_) => path.clone(),
                };
                self.known = self.known.iter().map(move_path).collect();
                self.known.insert(paths[1].to_owned());
            }
            // Whoever is told so looks.
            WatcherEventType::Overflow => {
                self.overflows += 1;
                self.known = self.found();
            }
            _ => {}
        }
        Some(event)
    }

    /// Entries that are watched. Below a directory that is watched alone there may be many.
    fn found(&self) -> BTreeSet<PathBuf> {
        found_in(&self.root, self.recursive)
    }

    /// What the next events say, each of which has to be this: a kind, and names in the directory.
    pub(super) async fn tells(&mut self, expected: &[(WatcherEventType, &[&str])]) {
        for (kind, names) in expected {
            let event =
                self.next().await.unwrap_or_else(|| panic!("{kind:?} {names:?} is not told"));
            let path = |name: &&str| self.root.join(name).to_str().unwrap().to_owned();
            let paths: Vec<_> = names.iter().map(path).collect();
            assert_eq!((event.kind, event.paths), (*kind, paths));
        }
    }

    /// All that is told of what has happened until now.
    pub(super) async fn rest(&mut self) -> Vec<WatcherEvent> {
        self.sentinels += 1;
        let sentinel = self.root.join(format!("sentinel {}", self.sentinels));
        fs::write(&sentinel, "").unwrap();
        let mut told = Vec::new();
        loop {
            let event = self.next().await.expect("it goes on");
            // Where its own event is lost, what comes after its directory was looked at may be told before.
            let is_sentinel = event.paths.iter().any(|path| Path::new(path) == sentinel);
            if is_sentinel
                || event.kind == WatcherEventType::Overflow && self.known.contains(&sentinel)
            {
                break;
            }
            told.push(event);
        }
        fs::remove_file(&sentinel).unwrap();
        while self.known.contains(&sentinel) {
            self.next().await.expect("it goes on");
        }
        told
    }

    /// Asserts that all that is told makes the directory what it is.
    pub(super) async fn is_complete(&mut self) {
        let told = self.rest().await;
        let found = self.found();
        let lost: Vec<_> = found.difference(&self.known).collect();
        let stale: Vec<_> = self.known.difference(&found).collect();
        assert!(lost.is_empty() && stale.is_empty(), "{lost:?} {stale:?} after {told:#?}");
    }
}

/// Paths of all entries of a directory and below it.
pub(super) fn found(root: &Path) -> BTreeSet<PathBuf> {
    found_in(root, true)
}

fn found_in(root: &Path, recursive: bool) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut next = vec![root.to_owned()];
    while let Some(directory) = next.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if recursive && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                next.push(entry.path());
            }
            found.insert(entry.path());
        }
    }
    found
}
