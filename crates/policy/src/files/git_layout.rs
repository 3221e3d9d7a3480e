//! What git reads of a repository besides its `.git`, and where it goes from there by itself.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, BufReader, Read},
    os::unix::{ffi::OsStrExt, fs::OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::git_index::{self, EntriesLeft};

/// Name of the file by which a working tree of several names the directory that they share.
pub(super) const COMMONDIR: &str = "commondir";
/// More than a path can be long.
const MAX_POINTER: u64 = 8 * 1024;
const MAX_CONFIG: u64 = 1024 * 1024;
/// The lengths of the names of objects, by SHA-1 and by SHA-256.
const SHA1: usize = 20;
const SHA256: usize = 32;

/// The directories that a repository is in besides its `.git`: that may be a file which names one, and a working tree of several has
/// a file `commondir` there (gitrepository-layout(5)).
pub(super) fn directories(dot_git: &Path) -> Vec<PathBuf> {
    let mut directories = Vec::new();
    let mut directory = dot_git.to_owned();
    if !dot_git.is_dir() {
        match named_by(dot_git, b"gitdir: ") {
            Some(named) => directory = named,
            None => return directories,
        }
        directories.push(directory.clone());
    }
    let common = named_by(&directory.join(COMMONDIR), b"");
    directories.extend(common.filter(|common| *common != directory));
    directories
}

/// Returns whether the settings of a repository say that it has no working tree, or where that is.
pub(super) fn has_tree_elsewhere(git_dir: &Path) -> bool {
    let config = config(git_dir);
    let values = |key| config.lines().filter_map(move |line| value(line, key));
    let is_true =
        |value: &str| !matches!(&*value.to_ascii_lowercase(), "false" | "no" | "off" | "0");
    values("bare").any(is_true) || values("worktree").next().is_some()
}

/// Finds the working tree that the settings of a repository name, as those of a submodule do.
pub(super) fn named_tree(git_dir: &Path) -> Option<PathBuf> {
    let config = config(git_dir);
    let named = config.lines().filter_map(|line| value(line, "worktree")).next_back()?;
    git_dir.join(named).canonicalize().ok()
}

/// Finds the value of a key in a line of settings, as git writes them (git-config(1)).
fn value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let line = line.rsplit_once(']').map_or(line, |(_, line)| line).trim();
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    name.trim().eq_ignore_ascii_case(key).then(|| value.trim())
}

/// The directory that is named in a file, behind a prefix.
fn named_by(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let mut text = Vec::new();
    open(file).ok()?.take(MAX_POINTER).read_to_end(&mut text).ok()?;
    let named = text.strip_prefix(prefix)?.trim_ascii_end();
    let named = file.parent()?.join(OsStr::from_bytes(named)).canonicalize().ok()?;
    named.is_dir().then_some(named)
}

/// Opens what is a file. It waits for nobody where a pipe is in its place.
fn open(path: &Path) -> io::Result<File> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// Finds the paths of the submodules of a repository in its working tree, at most so many: git goes into each of them by itself.
///
/// # Errors
///
/// Its index can't be read, with that.
pub(super) fn submodules(
    dot_git: &Path,
    most: usize,
    left: &mut EntriesLeft,
) -> Result<Vec<PathBuf>, (PathBuf, io::Error)> {
    let directories = directories(dot_git);
    let directory = match directories.first() {
        Some(named) if !dot_git.is_dir() => named,
        _ => dot_git,
    };
    let common = directories.last().map_or(dot_git, PathBuf::as_path);
    let object_name = object_name(common);
    let mut found = Vec::new();
    for index in indexes(directory).map_err(|error| (directory.to_owned(), error))? {
        let names = match open(&index) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.and_then(|file| {
                let length = file.metadata()?.len();
                git_index::submodules(BufReader::new(file), length, object_name, most, left)
            }),
        };
        let names = names.map_err(|error| (index, error))?;
        found.extend(names.iter().map(|name| PathBuf::from(OsStr::from_bytes(name))));
    }
    found.retain(|path| path.is_relative() && !path.as_os_str().is_empty());
    found.truncate(most);
    Ok(found)
}

/// The index, and where it is split also what it is based on.
fn indexes(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !directory.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if name == "index" || name.as_bytes().starts_with(b"sharedindex.") {
            found.push(directory.join(name));
        }
    }
    Ok(found)
}

fn object_name(common: &Path) -> usize {
    let config = config(common).to_ascii_lowercase();
    let is_sha256 = |line: &str| line.contains("objectformat") && line.contains("sha256");
    if config.lines().any(is_sha256) { SHA256 } else { SHA1 }
}

/// Reads the settings of a repository; none where they can't be read.
fn config(common: &Path) -> String {
    let mut config = Vec::new();
    let read = open(&common.join("config"))
        .and_then(|file| file.take(MAX_CONFIG).read_to_end(&mut config));
    read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&config).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_say_where_a_working_tree_is() {
        let directory = tempfile::tempdir().unwrap();
        let git_dir = directory.path().canonicalize().unwrap();
        fs::create_dir(git_dir.join("tree")).unwrap();
        for (config, is_elsewhere, tree) in [
            ("[core]\n\tbare = false\n", false, None),
            ("[core]\n\tbare = true\n", true, None),
            ("[core] bare\n", true, None),
            ("[core]\n\tBare = yes\n", true, None),
            ("[core]\n\tworktree = tree\n", true, Some("tree")),
            ("[core]\n\tworktree = missing\n", true, None),
            ("[extensions]\n\tworktreeConfig = true\n", false, None),
            ("", false, None),
        ] {
            fs::write(git_dir.join("config"), config).unwrap();
            assert_eq!(has_tree_elsewhere(&git_dir), is_elsewhere, "{config}");
            assert_eq!(named_tree(&git_dir), tree.map(|tree| git_dir.join(tree)), "{config}");
        }
    }

    #[test]
    fn a_directory_that_names_itself_has_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let git_dir = directory.path().canonicalize().unwrap();
        assert_eq!(directories(&git_dir), [] as [PathBuf; 0]);
        fs::write(git_dir.join(COMMONDIR), ".\n").unwrap();
        assert_eq!(directories(&git_dir), [] as [PathBuf; 0]);
        fs::create_dir(git_dir.join("other")).unwrap();
        fs::write(git_dir.join(COMMONDIR), "other\n").unwrap();
        assert_eq!(directories(&git_dir), [git_dir.join("other")]);
    }
}
