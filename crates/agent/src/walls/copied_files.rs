//! Files of this machine in place of which commands have a copy.

use std::{
    fs,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use sandpipe_policy::{
    document::Network,
    network::{forwards, host_lines},
    walls::Replacement,
    wildcard,
};

/// Longest file that is copied, in bytes.
const MAX_LENGTH: u64 = 1 << 20;
/// Most files of ssh's settings that are copied, and how deep they include each other (ssh has the
/// same limit).
const MAX_FILES: usize = 256;
const MAX_DEPTH: usize = 16;

/// Settings of ssh for all users, and the directory of what they include (`ssh_config(5)`).
const SSH_SETTINGS: &str = "/etc/ssh/ssh_config";
const SSH_DIRECTORY: &str = "/etc/ssh";

/// Makes the copies for commands with that network, who are root's or another user's.
pub(super) fn copied_files(network: &Network, is_root: bool) -> Vec<Replacement> {
    let mut files: Vec<CopiedFile> = hosts(network).into_iter().collect();
    if !is_root {
        included(Path::new(SSH_SETTINGS), MAX_DEPTH, &mut files);
    }
    files.into_iter().map(|file| Replacement::File(file.path, file.content)).collect()
}

/// File of this machine, with its path without symbolic links.
struct CopiedFile {
    path: PathBuf,
    content: Vec<u8>,
}

/// Makes a copy of the list of hosts in which the hosts that a policy names lead to the agent.
fn hosts(network: &Network) -> Option<CopiedFile> {
    let Network::Allow(rules) = network else { return None };
    let lines = host_lines(&forwards(rules));
    if lines.is_empty() {
        return None;
    }
    let mut file = read(Path::new("/etc/hosts"))?;
    file.content.splice(..0, lines.into_bytes());
    Some(file)
}

/// Adds what settings of ssh include. ssh refuses a file that is not root's or its user's, and in
/// the user namespace of a sandbox root's files are nobody's. A copy is the user's; what ssh
/// refuses outside gets none.
fn included(settings: &Path, depth: usize, files: &mut Vec<CopiedFile>) {
    let Some(file) = read(settings).filter(|_| depth > 0) else { return };
    for path in file.content.split(|byte| *byte == b'\n').flat_map(includes) {
        let is_new = |file: &CopiedFile| files.iter().all(|known| known.path != file.path);
        let Some(file) = read(&path).filter(is_new).filter(|_| files.len() < MAX_FILES) else {
            continue;
        };
        let is_roots =
            file.path.metadata().is_ok_and(|found| found.uid() == 0 && found.mode() & 0o022 == 0);
        if is_roots {
            files.push(file);
            included(&path, depth - 1, files);
        }
    }
}

/// Lists the files that a line includes.
fn includes(line: &[u8]) -> Vec<PathBuf> {
    let line = String::from_utf8_lossy(line);
    let is_space = |character: char| character.is_ascii_whitespace() || character == '=';
    let mut words = line.split(is_space).filter(|word| !word.is_empty());
    if !words.next().is_some_and(|keyword| keyword.eq_ignore_ascii_case("include")) {
        return Vec::new();
    }
    let words = words.take_while(|word| !word.starts_with('#'));
    words
        .flat_map(|word| matching(&Path::new(SSH_DIRECTORY).join(word.trim_matches('"'))))
        .collect()
}

/// Lists the files that a path means in whose last name `*` is any part.
fn matching(path: &Path) -> Vec<PathBuf> {
    let (Some(directory), Some(pattern)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    let names = names.filter(|name| wildcard::matches(pattern.as_bytes(), name.as_bytes()));
    names.map(|name| directory.join(name)).collect()
}

/// Reads a file, with the path that links lead to.
fn read(path: &Path) -> Option<CopiedFile> {
    let path = path.canonicalize().ok()?;
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_LENGTH {
        return None;
    }
    Some(CopiedFile { content: fs::read(&path).ok()?, path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_includes_what_its_words_mean() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.conf", "b.conf", "c.txt"] {
            fs::write(directory.path().join(name), "").unwrap();
        }
        let included = |line: &str| {
            let line = line.replace('~', directory.path().to_str().unwrap());
            let mut paths = includes(line.as_bytes());
            paths.sort();
            let names =
                paths.iter().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        assert_eq!(included("Include ~/*.conf"), ["a.conf", "b.conf"]);
        assert_eq!(included("  include=\"~/c.txt\" ~/a.conf # ~/b.conf"), ["a.conf", "c.txt"]);
        for line in
            ["", "Included ~/a.conf", "#Include ~/a.conf", "Include ~/no", "Host Include ~/a.conf"]
        {
            assert_eq!(included(line), [""; 0], "{line}");
        }
    }
}
