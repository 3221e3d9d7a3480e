//! State directories of agents that were killed, and that nobody is going to use again.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
};

use nix::{
    fcntl::{Flock, FlockArg, OFlag},
    unistd::geteuid,
};

/// What the name of a directory begins with that was made for one agent alone, as `startAgent()` does. 32 random digits follow.
const PREFIX: &str = "sandpipe-agent-";
const DIGITS: usize = 32;

/// Removes those beside an agent's own, where that is such a directory, too. It returns at once: there may be much.
pub(crate) fn remove_beside(own: &Path, spools: &'static str) {
    let Some(parent) = own.parent().filter(|_| is_for_one(own)).map(Path::to_owned) else {
        return;
    };
    let own = own.to_owned();
    // What is left then is the next one's to remove.
    let _unremoved = thread::Builder::new().name("abandoned".into()).spawn(move || {
        for path in fs::read_dir(parent).into_iter().flatten().filter_map(Result::ok) {
            let path = path.path();
            if path != own
                && is_for_one(&path)
                && let Err(error) = remove(&path, spools)
            {
                tracing::debug!(%error, directory = %path.display(), "it is left where it is");
            }
        }
    });
}

fn is_for_one(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let random = name.and_then(|name| name.strip_prefix(PREFIX)).unwrap_or_default();
    random.len() == DIGITS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Removes one that no agent has locked. It has spools: before it makes those an agent has the lock.
fn remove(path: &Path, spools: &str) -> io::Result<()> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW;
    let directory = OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)?;
    if directory.metadata()?.uid() != geteuid().as_raw() || !path.join(spools).is_dir() {
        return Ok(());
    }
    let lock = Flock::lock(directory, FlockArg::LockExclusiveNonblock);
    let lock: Flock<File> = lock.map_err(|(_, errno)| errno)?;
    fs::remove_dir_all(path)?;
    drop(lock);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn only_what_was_made_for_one_agent_is_known() {
        let name = |digits: &str| PathBuf::from(format!("/tmp/sandpipe-agent-{digits}"));
        assert!(is_for_one(&name(&"0a".repeat(16))));
        for other in ["", "0", &"0a".repeat(17), &"0g".repeat(16), &"é".repeat(16)] {
            assert!(!is_for_one(&name(other)), "{other}");
        }
        assert!(!is_for_one(Path::new("/")));
        assert!(!is_for_one(&PathBuf::from("/tmp").join("0a".repeat(16))));
    }
}
