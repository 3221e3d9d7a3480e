//! Files of this machine in place of which commands have a copy.

use std::{fs, path::Path};

use sandpipe_policy::{
    document::Network,
    network::{forwards, host_lines},
    walls::CopiedFile,
};

/// Longest file that is copied, in bytes.
const MAX_LENGTH: u64 = 1 << 20;

/// Makes the copies for commands with that network, who are root's or another user's.
pub(super) fn copied_files(network: &Network, _is_root: bool) -> Vec<CopiedFile> {
    hosts(network).into_iter().collect()
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

/// Reads a file, with the path that links lead to.
fn read(path: &Path) -> Option<CopiedFile> {
    let path = path.canonicalize().ok()?;
    let metadata = path.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_LENGTH {
        return None;
    }
    Some(CopiedFile { content: fs::read(&path).ok()?, path })
}
