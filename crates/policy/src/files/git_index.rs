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
/// A longer path can't be opened (`PATH_MAX`).
const MAX_NAME: usize = 4096;
/// An entry takes this many bytes at least, besides the name of its object.
const MIN_ENTRY: u64 = STAT as u64 + 2;
/// Most entries that are read of all indexes together. The largest repositories have some millions of files.
const MAX_ENTRIES: u64 = 10_000_000;

/// Number of entries that may still be read. A sparse file takes no room and claims as many as its header says.
#[derive(Debug)]
pub(super) struct EntriesLeft(u64);

impl Default for EntriesLeft {
    fn default() -> Self {
        Self(MAX_ENTRIES)
    }
}

impl EntriesLeft {
    /// Takes what an index of so many bytes can have of the entries that it claims.
    fn take(&mut self, claimed: u32, length: u64, object_name: usize) -> io::Result<()> {
        let entry = MIN_ENTRY.saturating_add(object_name.try_into().unwrap_or(u64::MAX));
        let possible = u64::from(claimed).min(length / entry);
        match self.0.checked_sub(possible) {
            Some(left) => self.0 = left,
            None => {
                return Err(io::Error::other(format!(
                    "it has {possible} entries, and {MAX_ENTRIES} are read of all repositories together: remove it, or the repository, if it is none of yours; `git add` makes a new one"
                )));
            }
        }
        Ok(())
    }
}

/// Reads the paths of the submodules in an index of so many bytes, at most `most`. What git itself could not read ends it: of that git
/// starts nothing.
///
/// # Errors
///
/// It can't be read, has a path that is too long for the system, or too many entries.
pub(super) fn submodules(
    index: impl BufRead,
    length: u64,
    object_name: usize,
    most: usize,
    left: &mut EntriesLeft,
) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    // It may grow meanwhile.
    match read(&mut index.take(length), object_name, most, left, &mut found) {
        Err(error) if !is_malformed(&error) => Err(error),
        _ => Ok(found),
    }
}

fn is_malformed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData)
}

fn read<R: BufRead>(
    index: &mut io::Take<R>,
    object_name: usize,
    most: usize,
    left: &mut EntriesLeft,
    found: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let magic: [u8; 4] = array(index)?;
    let version = u32::from_be_bytes(array(index)?);
    if magic != *b"DIRC" || !(2..=4).contains(&version) {
        return Err(malformed());
    }
    let count = u32::from_be_bytes(array(index)?);
    left.take(count, index.limit(), object_name)?;
    let mut name = Vec::new();
    for _ in 0..count {
        let stat: [u8; STAT] = array(index)?;
        let mode = stat.get(MODE..MODE + 4).and_then(|mode| mode.try_into().ok());
        let mode = u32::from_be_bytes(mode.ok_or_else(malformed)?);
        skip(index, object_name)?;
        let flags = u16::from_be_bytes(array(index)?);
        // Git looks at that in every version.
        let is_extended = flags & IS_EXTENDED != 0;
        if is_extended {
            skip(index, 2)?;
        }
        let kept = if version == 4 {
            // How much of the name before it ends with is not in this one.
            let dropped = usize::try_from(offset(index)?).map_err(|_| malformed())?;
            name.len().checked_sub(dropped).ok_or_else(malformed)?
        } else {
            0
        };
        name.truncate(kept);
        let length = usize::from(flags & NAME_LENGTH);
        let is_whole = length < usize::from(NAME_LENGTH);
        if is_whole {
            let added = length.checked_sub(kept).ok_or_else(malformed)?;
            name.resize(kept + added, 0);
            index.read_exact(name.get_mut(kept..).unwrap_or_default())?;
        } else {
            terminated(index, &mut name)?;
        }
        // What is behind it: one zero, and before version 4 up to seven more, so that the next entry begins at a multiple of eight.
        let before = STAT + object_name + 2 + if is_extended { 2 } else { 0 } + name.len();
        let zeros = if version == 4 { 1 } else { 8 - before % 8 };
        skip(index, if is_whole { zeros } else { zeros - 1 })?;
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
    let left = MAX_NAME.saturating_sub(name.len());
    let count = input.take(u64::try_from(left).unwrap_or(u64::MAX)).read_until(0, name)?;
    match name.pop() {
        Some(0) if count > 0 => Ok(()),
        _ if count == left => Err(io::Error::other("it has a path of more than 4096 bytes")),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
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

/// The same, of what is in memory, for the fuzz target.
///
/// # Errors
///
/// It has a path that is too long for the system.
#[cfg(feature = "fuzz")]
pub fn read_git_index(index: &[u8], object_name: usize, most: usize) -> io::Result<Vec<Vec<u8>>> {
    in_memory(index, object_name, most)
}

#[cfg(any(test, feature = "fuzz"))]
fn in_memory(index: &[u8], object_name: usize, most: usize) -> io::Result<Vec<Vec<u8>>> {
    let length = index.len().try_into().unwrap_or(u64::MAX);
    submodules(index, length, object_name, most, &mut EntriesLeft::default())
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
        // As long as a path can be: its length is not in the index.
        let long = format!("longe{}", "/name".repeat(818));
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
                for name in ["b/sub", "modules/one", "modules/other", long.as_str()] {
                    let entry = format!("160000,{commit},{name}");
                    git(place, &["update-index", "--add", "--cacheinfo", &entry]);
                }
                git(place, &["update-index", "--index-version", version]);
                let index = fs::read(place.join(".git/index")).unwrap();
                let found = in_memory(&index, object_name, 9).unwrap();
                let names = found.iter().map(|name| String::from_utf8_lossy(name));
                assert_eq!(
                    names.collect::<Vec<_>>(),
                    ["b/sub", long.as_str(), "modules/one", "modules/other"],
                    "{format} {version}"
                );
                assert_eq!(in_memory(&index, object_name, 2).unwrap().len(), 2);
            }
        }
    }

    #[test]
    fn a_path_that_is_too_long_is_told() {
        let entry = |name: &[u8]| {
            let mut entry = vec![0; STAT + 20];
            entry.extend(NAME_LENGTH.to_be_bytes());
            entry.push(0);
            entry.extend(name);
            entry.push(0);
            entry
        };
        let index = |names: [&[u8]; 2]| {
            let header = [b"DIRC".as_slice(), &4_u32.to_be_bytes(), &2_u32.to_be_bytes()].concat();
            [header, entry(names[0]), entry(names[1])].concat()
        };
        let (half, rest) = ([b'a'; 2048], [b'a'; 2047]);
        assert!(in_memory(&index([&half, &rest]), 20, 5).is_ok());
        assert!(in_memory(&index([&half, &half]), 20, 5).is_err());
    }

    #[test]
    fn an_index_with_too_many_entries_is_told_before_they_are_read() {
        let header = |count: u32| {
            let [version, count] = [2, count].map(u32::to_be_bytes);
            io::Cursor::new([b"DIRC".as_slice(), &version, &count].concat())
        };
        let read = |count, length, left: &mut EntriesLeft| {
            let header = header(count);
            // It has no end.
            let index = io::BufReader::new(header.chain(io::repeat(0)));
            submodules(index, length, 20, 5, left)
        };
        let mut left = EntriesLeft::default();
        let error = read(u32::MAX, u64::MAX, &mut left).unwrap_err().to_string();
        assert!(error.starts_with("it has 4294967295 entries, and 10000000 are read"), "{error}");
        // What a file has no room for is not counted, and what one has taken another can't.
        assert!(read(u32::MAX, 12 + 62 * 1000, &mut left).is_ok());
        assert_eq!(left.0, MAX_ENTRIES - 1000);
        assert!(read(10_000_000, u64::MAX, &mut left).is_err());
    }

    proptest! {
        #[test]
        fn whatever_is_there_is_read_within_bounds(
            version in 1..6_u32,
            rest in prop::collection::vec(any::<u8>(), 0..400),
        ) {
            let header = [b"DIRC".as_slice(), &version.to_be_bytes(), &u32::MAX.to_be_bytes()];
            let found = in_memory(&[header.concat(), rest].concat(), 20, 5).unwrap();
            prop_assert!(found.len() <= 5);
        }
    }
}
