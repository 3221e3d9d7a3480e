//! Mounts of a sandbox that its processes can reach.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
};

use crate::mountinfo::{Mounted, parse};

/// Lists the places where a mount may be written, of those that a `mountinfo` of a sandbox lists.
#[must_use]
pub fn writable_places(mountinfo: &[u8]) -> Vec<PathBuf> {
    let mounted = visible(parse(mountinfo));
    let writable = top(&mounted).into_values().filter(|mounted| !mounted.is_read_only);
    writable.map(|mounted| mounted.point.clone()).collect()
}

/// Finds the mount on top at each place: of several the last one.
pub(super) fn top(mounted: &[Mounted]) -> HashMap<&Path, &Mounted> {
    mounted.iter().map(|mounted| (mounted.point.as_path(), mounted)).collect()
}

/// Keeps those that a path leads to: what is mounted on one, or above it, covers it.
pub(super) fn visible(mounted: Vec<Mounted>) -> Vec<Mounted> {
    let over: HashSet<(u32, &Path)> =
        mounted.iter().map(|mount| (mount.parent, mount.point.as_path())).collect();
    let is_covered = |mount: &Mounted| {
        mount.point.ancestors().skip(1).any(|above| over.contains(&(mount.parent, above)))
    };
    let mut hidden: BTreeSet<u32> =
        mounted.iter().filter(|mount| is_covered(mount)).map(|mount| mount.id).collect();
    // A mount may come before the one that it is on.
    loop {
        let more = mounted
            .iter()
            .filter(|mount| !hidden.contains(&mount.id) && hidden.contains(&mount.parent));
        let more: Vec<u32> = more.map(|mount| mount.id).collect();
        if more.is_empty() {
            break;
        }
        hidden.extend(more);
    }
    let mounted = mounted.into_iter().filter(|mount| !hidden.contains(&mount.id));
    mounted.collect()
}
