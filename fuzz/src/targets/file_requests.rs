//! What requests for files say: a path, a range, and what of a directory is left out.

use std::path::{Component, Path};

use sandpipe_agent::fuzz::{file_path, is_ignored, range};

use crate::{Target, bytes::decision, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "file-requests",
    check,
    // A byte that says how large the file is, a pattern, a zero, and a path or a range.
    seeds: &[
        b"\x05node_modules\0a/node_modules/b",
        b"\x10**/a*/\0/a/../b/./ab",
        b"\x20a/*/**/c\0bytes=0-99",
        b"\0*.log\0bytes=-4",
        b"\xFF/x\0../../..",
    ],
    words: &[
        b"*",
        b"**",
        b"/",
        b"//",
        b".",
        b"..",
        b"../",
        b"/**/",
        b"\0",
        b"a",
        b"b",
        b"bytes=",
        b"-",
        b",",
        b"0-",
        b"\xFF",
        b"\xC3\xA9",
    ],
};

const WORKSPACE: &str = "/work/space";

/// A pattern has a segment for each slash, and a path the places at which it may be.
const BOUND: Bound = Bound::new(4096, 512);

fn check(input: &[u8]) {
    let (size, rest) = decision(input);
    let mut parts = rest.splitn(2, |byte| *byte == 0);
    let pattern = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let asked = parts.next().unwrap_or_default();

    let path = BOUND.hold(input, || file_path(asked, WORKSPACE));
    match &path {
        None => assert!(asked.contains(&0) || asked.windows(2).any(|two| two == b"..")),
        Some(path) => {
            assert!(path.is_absolute());
            // However far it climbs, it stays below the root.
            let mut depth = 0_u32;
            for component in path.components() {
                match component {
                    Component::ParentDir => depth = depth.checked_sub(1).unwrap(),
                    Component::Normal(_) => depth += 1,
                    _ => {}
                }
            }
            if let Ok(relative) = path.strip_prefix(WORKSPACE) {
                ignored(&pattern, relative, input);
            }
        }
    }

    let size = u64::from(size);
    let part = BOUND.hold(input, || range(&String::from_utf8_lossy(asked), size));
    assert!(part.start <= part.end && part.end <= size, "{part:?} of {size}");
}

/// Whether a path is left out, which a plain matcher says, too.
fn ignored(pattern: &str, path: &Path, input: &[u8]) {
    let Some(is_left_out) = BOUND.hold(input, || is_ignored(pattern, path)) else {
        return;
    };
    let Some(path) = path.to_str() else {
        return;
    };
    let names = pattern.trim_end_matches('/');
    let mut segments: Vec<&str> =
        names.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
    if !names.contains('/') {
        segments.insert(0, "**");
    }
    if segments.last() == Some(&"**") {
        segments.push("*");
    }
    // It takes time without end otherwise.
    if segments.len() > 6 || pattern.matches('*').count() > 8 || path.len() > 40 {
        return;
    }
    let path: Vec<&str> = path.split('/').collect();
    assert_eq!(is_left_out, fits(&segments, &path), "{pattern:?} {path:?}");
}

fn fits(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], []) => true,
        (["**", rest @ ..], _) => (0..=path.len()).any(|skipped| fits(rest, &path[skipped..])),
        ([name, rest @ ..], [first, others @ ..]) => {
            name_fits(name.as_bytes(), first.as_bytes()) && fits(rest, others)
        }
        _ => false,
    }
}

fn name_fits(pattern: &[u8], name: &[u8]) -> bool {
    match pattern {
        [] => name.is_empty(),
        [b'*', rest @ ..] => (0..=name.len()).any(|skipped| name_fits(rest, &name[skipped..])),
        [byte, rest @ ..] => name.first() == Some(byte) && name_fits(rest, &name[1..]),
    }
}
