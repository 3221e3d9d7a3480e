//! Programs that the tests start, where whoever is to execute them can.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::{LazyLock, Mutex},
};

use nix::{libc, unistd::geteuid};
use tempfile::TempDir;

use super::visible::{is_visible, visible_directory};

/// The agent's program, where every user may execute it. The checkout may be root's alone, as in `/root`.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
        let program = Path::new(env!("CARGO_BIN_EXE_sandpipe-agent"));
        if is_for_all(program) { program.to_owned() } else { copy(program) }
    });
    &PROGRAM
}

/// A program where commands may execute it under every policy, whoever they are.
pub(crate) fn program_for_all(program: &Path) -> PathBuf {
    if is_for_all(program) && is_visible(program) { program.to_owned() } else { copy(program) }
}

/// Whether each user of these tests may execute it.
fn is_for_all(program: &Path) -> bool {
    let is_for_others = |path: &Path| path.metadata().is_ok_and(|found| found.mode() & 0o001 != 0);
    !geteuid().is_root() || program.ancestors().all(is_for_others)
}

/// Where copies are, until this process ends.
static COPIES: Mutex<Option<TempDir>> = Mutex::new(None);

/// A directory of this process's, which every user can get at and commands see.
pub(crate) fn shared_directory() -> PathBuf {
    let mut copies = COPIES.lock().unwrap();
    let directory = copies.get_or_insert_with(|| {
        // Nothing that is static is dropped.
        // SAFETY: the function may be called at any time.
        #[allow(unsafe_code)]
        unsafe {
            libc::atexit(remove_copies);
        }
        let directory = visible_directory().unwrap_or_else(|| TempDir::new().unwrap());
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        directory
    });
    directory.path().to_owned()
}

extern "C" fn remove_copies() {
    if let Ok(mut copies) = COPIES.lock() {
        copies.take();
    }
}

fn copy(program: &Path) -> PathBuf {
    let to = shared_directory().join(program.file_name().unwrap());
    fs::copy(program, &to).unwrap();
    fs::set_permissions(&to, Permissions::from_mode(0o755)).unwrap();
    to
}
