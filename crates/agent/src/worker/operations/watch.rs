use std::{io, path::PathBuf};

use rustix::{fs::stat, io::Errno};
use serde::{Deserialize, Serialize};

use crate::{
    ignore_patterns::IgnorePatterns,
    watch::{Audience, Change, Changes, End, Scope, Watcher},
    worker::{
        failure::{Failure, FailureKind},
        metadata::Kind,
        operation::Operation,
        path_bytes,
        peer::Peer,
    },
};

/// Watches a directory until the conversation ends: answers come one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Watch {
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
    pub(crate) recursive: bool,
    pub(crate) ignore: IgnorePatterns,
    /// Whether a move is told as one, and not as a removal and an addition.
    pub(crate) tells_renames: bool,
}

/// An answer to a `Watch`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum WatchReport {
    /// What changes from now on is told. The first one.
    Connected,
    Changes(Vec<Change>),
    /// Nothing more is told, for this reason. The last one.
    Ended(String),
}

impl Operation for Watch {
    type Answer = WatchReport;

    fn run(self, peer: &mut Peer) -> Result<WatchReport, Failure> {
        let Self { path, recursive, ignore, tells_renames } = self;
        let scope = Scope { root: path.clone(), recursive, ignore, tells_renames };
        let mut watcher = Watcher::start(scope).map_err(refused)?;
        if peer.send(&Ok::<_, Failure>(WatchReport::Connected)).is_err() {
            return Ok(WatchReport::Ended(End::Unheard.to_string()));
        }
        let end = watcher.run(&mut Changes::new(peer, path));
        Ok(WatchReport::Ended(end.to_string()))
    }
}

impl Audience for Peer {
    fn tell(&mut self, changes: Vec<Change>) -> io::Result<()> {
        self.send(&Ok::<_, Failure>(WatchReport::Changes(changes)))
    }
}

fn refused(end: End) -> Failure {
    match end {
        End::System { path, errno: Errno::NOTDIR } => match stat(&path) {
            // What is in the way is before it.
            Err(errno) => Failure::reading(&path, errno),
            Ok(stat) => Failure::invalid(&path, Kind::of(&stat).described()),
        },
        End::System { path, errno } => Failure::reading(&path, errno),
        End::TooMany { .. } => Failure::new(FailureKind::NoSpace, end.to_string()),
        End::Unheard | End::Root(_) => Failure::new(FailureKind::System, end.to_string()),
    }
}
