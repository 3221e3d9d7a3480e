//! The index of a repository of git, as far as it names submodules (gitformat-index(5)).

use std::io::{self, BufRead, Read};

/// What a file mode is with for a submodule: a commit in place of a file.
const GITLINK: u32 = 0o160_000;
const FILE_TYPE: u32 = 0o170_000;
/// Where the mode of an entry is, behind its two times, device and inode.
const MODE: usize = 24;
/// What precedes the name of an object.
const STAT: usize = 40;
const NAME_LENGTH: u16 = 0x0fff;
const IS_EXTENDED: u16 = 0x4000;
/// Longer than any path of a file system.
const MAX_NAME: u64 = 64 * 1024;

/// The paths of the submodules in an index, at most so many. What git itself could not read ends it: of that git starts nothing.
///
/// # Errors
///
/// It can't be read.
pub(super) fn submodules(
    mut index: impl BufRead,
    object_name: usize,
    most: usize,
) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    match read(&mut index, object_name, most, &mut found) {
        Err(error) if !is_malformed(&error) => Err(error),
        _ => Ok(found),
    }
}

fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

fn read(
    index: &mut impl BufRead,
    object_name: usize,
    most: usize,
    found: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let magic: [u8; 4] = array(index)?;
    let version = u32::from_be_bytes(array(index)?);
    if magic != *b"DIRC" || !(2..=4).contains(&version) {
        return Err(malformed());
    }
    let mut name = Vec::new();
    for _ in 0..u32::from_be_bytes(array(index)?) {
        let stat: [u8; STAT] = array(index)?;
        let mode = stat.get(MODE..MODE + 4).and_then(|mode| mode.try_into().ok());
        let mode = u32::from_be_bytes(mode.ok_or_else(malformed)?);
        skip(index, object_name)?;
        let flags = u16::from_be_bytes(array(index)?);
        let is_extended = version > 2 && flags & IS_EXTENDED != 0;
        if is_extended {
            skip(index, 2)?;
        }
        if version == 4 {
            // How much of the name before it ends with is not in this one.
            let dropped = usize::try_from(offset(index)?).map_err(|_| malformed())?;
            name.truncate(name.len().checked_sub(dropped).ok_or_else(malformed)?);
            terminated(index, &mut name)?;
        } else {
            name.clear();
            let length = usize::from(flags & NAME_LENGTH);
            if length < usize::from(NAME_LENGTH) {
                name.resize(length, 0);
                index.read_exact(&mut name)?;
            } else {
                terminated(index, &mut name)?;
            }
            // One to eight zeros, so that the next entry begins at a multiple of eight.
            let before = STAT + object_name + 2 + if is_extended { 2 } else { 0 } + name.len();
            let zeros = 8 - before % 8;
            skip(index, if length < usize::from(NAME_LENGTH) { zeros } else { zeros - 1 })?;
        }
        if mode & FILE_TYPE == GITLINK {
            found.push(name.clone());
            if found.len() >= most {
                break;
            }
        }
    }
    Ok(())
}

fn array<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn skip(input: &mut impl Read, count: usize) -> io::Result<()> {
    let mut bytes = [0; 64];
    let bytes =
        bytes.get_mut(..count).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    input.read_exact(bytes)
}

/// Adds what comes up to a zero, which is read, too.
fn terminated(input: &mut impl BufRead, name: &mut Vec<u8>) -> io::Result<()> {
    input.take(MAX_NAME).read_until(0, name)?;
    if name.pop() == Some(0) { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// A number in groups of seven bits (gitformat-pack(5), "offset encoding").
fn offset(input: &mut impl Read) -> io::Result<u64> {
    let mut value = 0_u64;
    loop {
        let [byte] = array(input)?;
        value |= u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        let next = value.checked_add(1).and_then(|value| value.checked_mul(0x80));
        value = next.ok_or(io::ErrorKind::InvalidData)?;
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path, process::Command};

    use proptest::prelude::*;

    use super::*;

    fn git(directory: &Path, args: &[&str]) {
        let git = Command::new("git").arg("-C").arg(directory).args(args).output().unwrap();
        assert!(git.status.success(), "{args:?}: {}", String::from_utf8_lossy(&git.stderr));
    }

    #[test]
    fn submodules_are_found_in_what_git_writes() {
        let long = format!("long/{}", "name/".repeat(850));
        let long = long.trim_end_matches('/');
        for (format, object_name) in [("sha1", 20), ("sha256", 32)] {
            for version in ["2", "3", "4"] {
                let directory = tempfile::tempdir().unwrap();
                let place = directory.path();
                git(place, &["init", "-q", "--object-format", format]);
                for name in ["a", "b/c", "b/later", "z"] {
                    fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
                    fs::write(place.join(name), name).unwrap();
                }
                git(place, &["add", "a", "b/c", "z"]);
                // It needs a flag that only versions from 3 have.
                if version != "2" {
                    git(place, &["add", "--intent-to-add", "b/later"]);
                }
                let commit = "1".repeat(object_name * 2);
                for name in ["b/sub", "modules/one", "modules/other", long] {
                    let entry = format!("160000,{commit},{name}");
                    git(place, &["update-index", "--add", "--cacheinfo", &entry]);
                }
                git(place, &["update-index", "--index-version", version]);
                let index = fs::read(place.join(".git/index")).unwrap();
                let found = submodules(index.as_slice(), object_name, 9).unwrap();
                let names = found.iter().map(|name| String::from_utf8_lossy(name));
                assert_eq!(
                    names.collect::<Vec<_>>(),
                    ["b/sub", long, "modules/one", "modules/other"],
                    "{format} {version}"
                );
                assert_eq!(submodules(index.as_slice(), object_name, 2).unwrap().len(), 2);
            }
        }
    }

    proptest! {
        #[test]
        fn whatever_is_there_is_read_within_bounds(
            version in 1..6_u32,
            rest in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let header = [b"DIRC".as_slice(), &version.to_be_bytes(), &u32::MAX.to_be_bytes()];
            let found = submodules([header.concat(), rest].concat().as_slice(), 20, 5).unwrap();
            prop_assert!(found.len() <= 5);
        }
    }
}
