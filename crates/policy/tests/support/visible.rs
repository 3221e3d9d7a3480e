//! A directory for workspaces and made-up homes that commands see under every policy.

use std::{
    env, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// Directories of the machine that commands do not see under the preset `system`: `/tmp`, `/var/tmp` and `/dev/shm` are private to the
/// commands, `/run` is hidden, and `/dev` and `/proc` are mounted anew. A home in one of them would be out of reach whatever the rule
/// that a test is about says.
const REPLACED: [&str; 6] = ["/dev", "/proc", "/run", "/tmp", "/var/run", "/var/tmp"];

/// Makes a directory in which commands see what a test puts there, also where the checkout lies below `/tmp`.
///
/// Root's is in `/var/lib`, where every user reaches it. An ordinary user may write nowhere outside of `/tmp` but in its home and beside
/// the program of the tests: the directory is in the first of them that commands see. There is none where both are in a directory of
/// [`REPLACED`].
pub(crate) fn visible_directory() -> Option<TempDir> {
    let own = fs::metadata("/proc/self").ok()?.uid();
    let candidates = if own == 0 {
        vec![PathBuf::from("/var/lib")]
    } else {
        let home = env::var_os("HOME").map(PathBuf::from);
        let program = env::current_exe().ok().and_then(|path| Some(path.parent()?.to_owned()));
        home.into_iter().chain(home_of(own)).chain(program).collect()
    };
    candidates.iter().find_map(|parent| {
        let parent = parent.canonicalize().ok().filter(|parent| is_visible(parent))?;
        tempfile::Builder::new().prefix(".sandpipe-tests-").tempdir_in(parent).ok()
    })
}

/// Says what a test lacks that finds no such directory.
pub(crate) const NO_VISIBLE_DIRECTORY: &str =
    "a home or a checkout outside of /tmp, /var/tmp, /run and /dev, for files that commands see";

/// Returns whether a path is outside of them.
pub(crate) fn is_visible(directory: &Path) -> bool {
    let replaced = |path: &str| fs::canonicalize(path).unwrap_or_else(|_| path.into());
    !REPLACED.iter().any(|path| directory.starts_with(replaced(path)))
}

/// The home that the user database has (passwd(5)).
fn home_of(user: u32) -> Option<PathBuf> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = fields.into_iter().find(|fields| fields.get(2) == Some(&&*user.to_string()))?;
    own.get(5).map(PathBuf::from)
}
