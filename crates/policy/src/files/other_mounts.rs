//! Other paths to the same files: a file system may be mounted at several places, each as a whole or from some directory on.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{Access, Place, Places};
use crate::mountinfo::{Mounted, parse};

/// Hides what is hidden, or has something private in its place, at its other paths, too.
pub(super) fn hide_elsewhere(mut places: Places) -> Places {
    let mounts = parse(&fs::read("/proc/self/mountinfo").unwrap_or_default());
    let hidden: Vec<Place> = places
        .iter()
        .filter(|place| place.exists && place.rule.access <= Access::Private)
        .cloned()
        .collect();
    for place in hidden {
        for path in others(&mounts, &place.path) {
            // Something else may be mounted over it.
            if is_same(&place.path, &path) && places.access(&path) > Access::Hide {
                let mut rule = place.rule.clone();
                rule.access = Access::Hide;
                places = places.with(Place { path, rule, ..place.clone() });
            }
        }
    }
    places
}

/// Finds the other paths of what is at a path, by mounts from at or above it.
fn others(mounts: &[Mounted], path: &Path) -> Vec<PathBuf> {
    // Of several at the same point the last one counts.
    let own = mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| mount.point.as_os_str().len());
    let Some(own) = own else {
        return Vec::new();
    };
    let below = path.strip_prefix(&own.point).unwrap_or(path);
    let within = own.root.join(below);
    let is_made_anew = |path: &Path| path.starts_with("/proc") || path.starts_with("/dev");
    mounts
        .iter()
        .filter(|mount| mount.device == own.device)
        .filter_map(|mount| Some(joined(&mount.point, within.strip_prefix(&mount.root).ok()?)))
        .filter(|other| other != path && !is_made_anew(other))
        .collect()
}

/// Joins them without a slash at the end.
fn joined(point: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() { point.to_owned() } else { point.join(below) }
}

fn is_same(path: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = fs::symlink_metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(path).is_some_and(|own| identity(other) == Some(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As of a machine with ostree, a bind mount, and a file system that is mounted twice.
    const MOUNTS: &str = r"22 1 0:35 / /proc rw - proc proc rw
23 1 8:2 /ostree/deploy/os/deploy/1.0 / rw,relatime shared:1 - ext4 /dev/sda2 rw
24 23 8:2 / /sysroot ro,relatime - ext4 /dev/sda2 rw
25 23 8:2 /ostree/deploy/os/var /var rw - ext4 /dev/sda2 rw
26 23 8:2 /ostree/deploy/os/var/home/me /mnt/with\040space rw - ext4 /dev/sda2 rw
27 23 8:2 /ostree/deploy/os/var/home/me/.ssh/below /mnt/below rw - ext4 /dev/sda2 rw
28 23 8:3 / /data rw - ext4 /dev/sda3 rw
29 23 8:3 /secrets /srv rw - ext4 /dev/sda3 rw
30 23 8:4 / /srv rw - ext4 /dev/sda4 rw
";

    fn of(path: &str) -> Vec<String> {
        let others = others(&parse(MOUNTS.as_bytes()), Path::new(path));
        others.iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn other_paths_are_those_by_mounts_from_at_or_above() {
        let ssh = of("/var/home/me/.ssh");
        assert_eq!(ssh, ["/sysroot/ostree/deploy/os/var/home/me/.ssh", "/mnt/with space/.ssh"]);
        assert_eq!(
            of("/mnt/with space"),
            ["/sysroot/ostree/deploy/os/var/home/me", "/var/home/me"]
        );
        assert_eq!(of("/etc/shadow"), ["/sysroot/ostree/deploy/os/deploy/1.0/etc/shadow"]);
        // Of two mounts at one point the path is in the last one; where the other leads is looked at by who asks.
        assert_eq!(of("/srv/a"), [""; 0]);
        assert_eq!(of("/data/secrets/a"), ["/srv/a"]);
        assert_eq!(others(&[], Path::new("/a")), [""; 0].map(PathBuf::from));
    }
}
