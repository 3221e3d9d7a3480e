//! The index of a repository in the workspace, as far as it names submodules.

use sandpipe_policy::files::read_git_index;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "git-index",
    check,
    seeds: &[
        b"DIRC\0\0\0\x02\0\0\0\x02\
          ------------------------\0\0\xE0\0------------....................\0\x03sub\0\0\0\0\0\0\0\
          ------------------------\0\0\x81\xA4------------....................\0\x04file\0\0\0\0\0\0",
        b"DIRC\0\0\0\x04\0\0\0\x02\
          ------------------------\0\0\xE0\0------------....................\0\x05\0a/one\0\
          ------------------------\0\0\xE0\0------------....................\x0F\xFF\x03two\0",
    ],
    words: &[b"\0\0\xE0\0", b"\x0F\xFF", b"\x40\0", b"\xFF\xFF\xFF\xFF", b"\0\0\0\x03", b"\0\0\0\x04", b"\0", b"\x80"],
};

/// Each name that is found may be as long as the input, and its buffer twice that.
const BOUND: Bound = Bound::new(4096, 16);
const MAX: usize = 4;
const OBJECT_NAME: usize = 20;

fn check(input: &[u8]) {
    let found = BOUND.hold(input, || read_git_index(input, OBJECT_NAME, MAX));
    assert_eq!(found.ok(), reference(input));
}

/// The same by places in memory, as git itself reads it; `None` where a path is too long.
fn reference(index: &[u8]) -> Option<Vec<Vec<u8>>> {
    let number = |at: usize| {
        let bytes = index.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().expect("there are four")))
    };
    let mut found = Vec::new();
    let (Some(version @ 2..=4), Some(count)) = (number(4), number(8)) else {
        return Some(found);
    };
    if !index.starts_with(b"DIRC") {
        return Some(found);
    }
    let (mut at, mut name) = (12, Vec::new());
    for _ in 0..count {
        let Some(mode) = number(at + 24) else { break };
        let start = at;
        at += 60;
        let Some(flags) = index.get(at..at + 2) else { break };
        let flags = u16::from_be_bytes([flags[0], flags[1]]);
        at += if flags & 0x4000 == 0 { 2 } else { 4 };
        let mut kept = 0;
        if version == 4 {
            let Some((dropped, behind)) = offset(index, at) else { break };
            let Some(left) = usize::try_from(dropped).ok().and_then(|n| name.len().checked_sub(n))
            else {
                break;
            };
            (kept, at) = (left, behind);
        }
        name.truncate(kept);
        let length = usize::from(flags & 0xfff);
        let rest = index.get(at..).unwrap_or_default();
        let added = if length < 0xfff {
            let Some(added) = length.checked_sub(kept) else { break };
            added
        } else {
            let end = rest.iter().position(|byte| *byte == 0);
            if end.unwrap_or(rest.len()) + kept >= 4096 {
                return None;
            }
            let Some(end) = end else { break };
            end
        };
        let Some(suffix) = rest.get(..added) else { break };
        name.extend(suffix);
        at += added;
        at += if version == 4 { 1 } else { 8 - (at - start) % 8 };
        if at > index.len() {
            break;
        }
        if mode & 0o170_000 == 0o160_000 {
            found.push(name.clone());
            if found.len() == MAX {
                break;
            }
        }
    }
    Some(found)
}

fn offset(index: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    loop {
        let byte = *index.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at));
        }
        value = value.checked_add(1)?.checked_mul(128)?;
    }
}
