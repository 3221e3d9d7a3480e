use std::{
    fmt,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::SystemTime,
};

use sandpipe_policy::files::{TOOL_SETTINGS, ToolSetting};

/// Tool settings in a workspace that commands can make. Nothing guards one that is missing: programs
/// can't read an empty directory in place of a file, and some want an empty workspace. The agent
/// looks for them when a command ends.
#[derive(Debug)]
pub(crate) struct ToolSettings {
    workspace: PathBuf,
    /// In the order of [`TOOL_SETTINGS`]; none before the first sandbox.
    looks: Mutex<Option<[Look; TOOL_SETTINGS.len()]>>,
}

/// State of a setting at the last look.
#[derive(Clone, Copy, Debug)]
struct Look {
    found: Option<Identity>,
    /// True if commands can't write it.
    is_protected: bool,
}

/// Identity of a file. The inode number of a removed file may be another's at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    created: Option<SystemTime>,
}

/// Setting that was made while commands ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MadeSetting(ToolSetting);

impl fmt::Display for MadeSetting {
    /// The line that a command has on standard error.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ToolSetting { name, danger } = self.0;
        writeln!(
            formatter,
            "sandpipe-agent: {name} was made in the workspace: {danger}, unconfined. Read it before you use that there, or remove it."
        )
    }
}

impl MadeSetting {
    /// Its name in the workspace.
    pub(crate) fn name(self) -> &'static str {
        self.0.name
    }
}

impl ToolSettings {
    pub(super) fn new(workspace: PathBuf) -> Self {
        Self { workspace, looks: Mutex::default() }
    }

    /// Notes which there are when a sandbox starts, and which of them it protects. One that a
    /// command has made before is still returned by [`Self::made`].
    pub(super) fn begin(&self, is_protected: impl Fn(&Path) -> bool) {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let last = looks.take();
        let mut index = 0;
        *looks = Some(TOOL_SETTINGS.map(|setting| {
            let path = self.workspace.join(setting.name);
            let now = identity(&path);
            let found =
                last.as_ref().and_then(|last| last.get(index)).map_or(now, |look| look.found);
            index += 1;
            Look { found, is_protected: found.is_some() && found == now && is_protected(&path) }
        }));
    }

    /// Finds those that commands may have made since the last look.
    pub(crate) fn made(&self) -> Vec<MadeSetting> {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(looks) = looks.as_mut() else {
            return Vec::new();
        };
        let mut made = Vec::new();
        for (setting, look) in TOOL_SETTINGS.iter().zip(looks) {
            let now = identity(&self.workspace.join(setting.name));
            if now.is_some() && now != look.found && !look.is_protected {
                made.push(MadeSetting(*setting));
            }
            look.found = now;
            // What is removed takes its protection along.
            look.is_protected &= now.is_some();
        }
        made
    }
}

fn identity(path: &Path) -> Option<Identity> {
    let found = path.symlink_metadata().ok()?;
    Some(Identity { device: found.dev(), inode: found.ino(), created: found.created().ok() })
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn tells_once_of_what_is_made_and_not_of_what_is_protected() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let settings = ToolSettings::new(directory.path().to_owned());
        let made = || settings.made().into_iter().map(MadeSetting::name).collect::<Vec<_>>();
        fs::write(path(".npmrc"), "").unwrap();
        symlink("shared", path(".claude")).unwrap();
        assert_eq!(made(), [""; 0]);
        let is_protected = |path: &Path| path.ends_with(".npmrc") || path.ends_with(".vscode");
        settings.begin(is_protected);
        assert_eq!(made(), [""; 0]);
        // Its user has replaced it.
        fs::write(path("new"), "").unwrap();
        fs::rename(path("new"), path(".npmrc")).unwrap();
        assert_eq!(made(), [""; 0]);
        fs::write(path(".envrc"), "").unwrap();
        symlink("evil", path("new")).unwrap();
        fs::rename(path("new"), path(".claude")).unwrap();
        assert_eq!(made(), [".claude", ".envrc"]);
        fs::write(path(".envrc"), "more").unwrap();
        assert_eq!(made(), [""; 0]);
        fs::remove_file(path(".npmrc")).unwrap();
        assert_eq!(made(), [""; 0]);
        fs::write(path(".npmrc"), "").unwrap();
        assert_eq!(made(), [".npmrc"]);
        // It was made at the end of a sandbox, and the next one protects it.
        fs::create_dir(path(".vscode")).unwrap();
        settings.begin(is_protected);
        assert_eq!(made(), [".vscode"]);
        assert_eq!(made(), [""; 0]);
    }
}
