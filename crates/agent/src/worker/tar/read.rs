use std::io::{self, Read};

use tar::{EntryType, Header};

use crate::worker::metadata::Time;

/// The size of a block: what is shorter is padded.
const BLOCK: usize = 512;
/// The most bytes of what comes before an entry and belongs to it, such as a long name.
const MAX_EXTENSION: u64 = 1024 * 1024;

/// Reads a tar stream.
pub(in crate::worker) struct Reader<R> {
    stream: R,
    /// What is left of the entry that was read last.
    left: u64,
    padding: u64,
}

/// An entry of a tar stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::worker) struct Entry {
    pub(in crate::worker) path: Vec<u8>,
    pub(in crate::worker) kind: EntryKind,
    pub(in crate::worker) mode: u32,
    pub(in crate::worker) modified: Time,
    pub(in crate::worker) size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::worker) enum EntryKind {
    File,
    Directory,
    /// What it says.
    Symlink(Vec<u8>),
    /// The path of an entry before.
    HardLink(Vec<u8>),
    Fifo,
    /// Major and minor number.
    Characters(u32, u32),
    Blocks(u32, u32),
}

#[derive(Debug, thiserror::Error)]
pub(in crate::worker) enum TarError {
    #[error("the tar stream is cut off: {0}")]
    Cut(&'static str),
    #[error("the tar stream is broken: {0}")]
    Broken(String),
    #[error("the tar stream has what is not unpacked here: {0}")]
    Unsupported(String),
    #[error("the tar stream can't be read: {0}")]
    Io(io::Error),
}

/// What comes before an entry and is of it.
#[derive(Default)]
struct Extensions {
    path: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
    modified: Option<Time>,
}

impl<R: Read> Reader<R> {
    pub(in crate::worker) fn new(stream: R) -> Self {
        Self { stream, left: 0, padding: 0 }
    }

    /// The next entry; none behind the last one. What was not read of the one before is passed over.
    pub(in crate::worker) fn next(&mut self) -> Result<Option<Entry>, TarError> {
        let mut extensions = Extensions::default();
        loop {
            self.skip()?;
            let mut block = [0; BLOCK];
            self.read_exact(&mut block, "it has no end")?;
            if block.iter().all(|byte| *byte == 0) {
                self.read_rest()?;
                return Ok(None);
            }
            let header = Header::from_byte_slice(&block);
            check(header)?;
            let kind = header.entry_type();
            let size = header.entry_size().map_err(|error| broken(&error))?;
            match kind {
                EntryType::XHeader => self.read_pax(size, &mut extensions)?,
                EntryType::GNULongName => {
                    extensions.path.get_or_insert(self.read_long(size)?);
                }
                EntryType::GNULongLink => {
                    extensions.link.get_or_insert(self.read_long(size)?);
                }
                EntryType::XGlobalHeader => self.expect(size),
                _ => return self.entry(header, extensions).map(Some),
            }
        }
    }

    fn entry(&mut self, header: &Header, extensions: Extensions) -> Result<Entry, TarError> {
        let path = extensions.path.unwrap_or_else(|| header.path_bytes().into_owned());
        let link = || {
            let own = || header.link_name_bytes().map(std::borrow::Cow::into_owned);
            extensions.link.clone().or_else(own).unwrap_or_default()
        };
        let device = |number: io::Result<Option<u32>>| {
            number.map(Option::unwrap_or_default).map_err(|error| broken(&error))
        };
        let kind = match header.entry_type() {
            // Old ones have no other way to say it.
            EntryType::Regular | EntryType::Continuous if path.ends_with(b"/") => {
                EntryKind::Directory
            }
            EntryType::Regular | EntryType::Continuous => EntryKind::File,
            EntryType::Directory => EntryKind::Directory,
            EntryType::Symlink => EntryKind::Symlink(link()),
            EntryType::Link => EntryKind::HardLink(link()),
            EntryType::Fifo => EntryKind::Fifo,
            EntryType::Char => EntryKind::Characters(
                device(header.device_major())?,
                device(header.device_minor())?,
            ),
            EntryType::Block => {
                EntryKind::Blocks(device(header.device_major())?, device(header.device_minor())?)
            }
            kind => {
                let path = String::from_utf8_lossy(&path);
                let shown = char::from(kind.as_byte()).escape_default();
                return Err(TarError::Unsupported(format!("{path} is of the type '{shown}'")));
            }
        };
        let own = header.entry_size().map_err(|error| broken(&error))?;
        let size = extensions.size.unwrap_or(own);
        self.expect(size);
        let seconds = header.mtime().map_err(|error| broken(&error))?;
        // In GNU's base 256 a time before 1970 begins with 0xff; these are the last eight of its bytes.
        let seconds = match header.as_old().mtime.first() {
            Some(0xff) => seconds.cast_signed(),
            _ => i64::try_from(seconds).unwrap_or_default(),
        };
        let own = Time { seconds, nanoseconds: 0 };
        let modified = extensions.modified.unwrap_or(own);
        let mode = header.mode().map_err(|error| broken(&error))?;
        let size = if kind == EntryKind::File { size } else { 0 };
        Ok(Entry { path, kind, mode, modified, size })
    }

    /// So many bytes come next, and what fills the last block.
    fn expect(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    fn read_pax(&mut self, size: u64, extensions: &mut Extensions) -> Result<(), TarError> {
        let records = self.read_extension(size)?;
        let mut rest = records.as_slice();
        while !rest.is_empty() {
            let (key, value, behind) =
                record(rest).ok_or_else(|| TarError::Broken("a record of pax".into()))?;
            rest = behind;
            let text = || String::from_utf8_lossy(value);
            let wrong = |what: &str| TarError::Broken(format!("{what} is {:?}", text()));
            match key {
                b"path" => extensions.path = Some(value.into()),
                b"linkpath" => extensions.link = Some(value.into()),
                b"size" => {
                    extensions.size = Some(text().parse().map_err(|_| wrong("a size"))?);
                }
                b"mtime" => {
                    extensions.modified = Some(time(&text()).ok_or_else(|| wrong("a time"))?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(TarError::Unsupported("a sparse file".into()));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn read_long(&mut self, size: u64) -> Result<Vec<u8>, TarError> {
        let mut name = self.read_extension(size)?;
        name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
        Ok(name)
    }

    fn read_extension(&mut self, size: u64) -> Result<Vec<u8>, TarError> {
        if size > MAX_EXTENSION {
            return Err(TarError::Broken(format!("what comes before an entry has {size} bytes")));
        }
        self.expect(size);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        self.read_exact(&mut bytes, "in the middle of a name")?;
        self.left = 0;
        Ok(bytes)
    }

    /// Passes over what is left of an entry.
    fn skip(&mut self) -> Result<(), TarError> {
        let left = self.left.checked_add(self.padding);
        let left = left.ok_or_else(|| TarError::Broken("an entry is larger than any".into()))?;
        let skipped = io::copy(&mut (&mut self.stream).take(left), &mut io::sink());
        if skipped.map_err(TarError::Io)? < left {
            return Err(TarError::Cut("in the middle of an entry"));
        }
        (self.left, self.padding) = (0, 0);
        Ok(())
    }

    /// What follows the end is nothing.
    fn read_rest(&mut self) -> Result<(), TarError> {
        io::copy(&mut self.stream, &mut io::sink()).map(drop).map_err(TarError::Io)
    }

    fn read_exact(&mut self, bytes: &mut [u8], place: &'static str) -> Result<(), TarError> {
        self.stream.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => TarError::Cut(place),
            _ => TarError::Io(error),
        })
    }
}

/// Reads the content of the entry that came last. Where it is cut off that is an error.
impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = (&mut self.stream).take(self.left).read(buffer)?;
        if count == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= count as u64;
        Ok(count)
    }
}

/// The sum of all bytes, with blanks in the place of the sum itself.
fn check(header: &Header) -> Result<(), TarError> {
    let bytes = header.as_bytes().iter().enumerate();
    let sum: u32 = bytes
        .map(|(place, byte)| u32::from(if (148..156).contains(&place) { b' ' } else { *byte }))
        .sum();
    match header.cksum() {
        Ok(expected) if expected == sum => Ok(()),
        _ => Err(TarError::Broken("a header's checksum is wrong".into())),
    }
}

/// The key and the value of the first record, `LENGTH KEY=VALUE` and a newline, and what follows it (POSIX, pax, "pax Extended Header").
/// The value may have any bytes, newlines too.
fn record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let blank = records.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(records.get(..blank)?).ok()?.parse().ok()?;
    let (first, behind) = records.split_at_checked(length)?;
    let entry = first.get(blank + 1..)?.strip_suffix(b"\n")?;
    let equals = entry.iter().position(|byte| *byte == b'=')?;
    Some((entry.get(..equals)?, entry.get(equals + 1..)?, behind))
}

/// Seconds with a fraction, as pax has them.
fn time(text: &str) -> Option<Time> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    let is_negative = seconds.starts_with('-');
    let seconds: i64 = seconds.parse().ok()?;
    // A time before 1970 is so many nanoseconds before its second.
    Some(if is_negative && nanoseconds > 0 {
        Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds }
    } else {
        Time { seconds, nanoseconds }
    })
}

fn broken(error: &io::Error) -> TarError {
    TarError::Broken(error.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{Writer, Written},
        *,
    };

    fn read(bytes: &[u8]) -> Result<Vec<(Entry, Vec<u8>)>, TarError> {
        let mut reader = Reader::new(bytes);
        let mut entries = Vec::new();
        while let Some(entry) = reader.next()? {
            let mut content = Vec::new();
            if entry.kind == EntryKind::File {
                reader.read_to_end(&mut content).map_err(|_| TarError::Cut("content"))?;
            }
            entries.push((entry, content));
        }
        Ok(entries)
    }

    fn write(entries: &[(Entry, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        for (entry, content) in entries {
            let (kind, link): (_, &[u8]) = match &entry.kind {
                EntryKind::File => (EntryType::Regular, b""),
                EntryKind::Directory => (EntryType::Directory, b""),
                EntryKind::Symlink(link) => (EntryType::Symlink, link),
                _ => (EntryType::Fifo, b""),
            };
            let Entry { path, mode, modified, size, .. } = entry;
            let written = Written {
                path,
                kind,
                mode: *mode,
                modified: *modified,
                link,
                size: *size,
                device: None,
            };
            writer.append(&written, content.as_slice()).unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    fn entry() -> impl Strategy<Value = (Entry, Vec<u8>)> {
        let bytes = |max| prop::collection::vec(1_u8.., 1..max);
        let content = prop::collection::vec(any::<u8>(), 0..1500);
        let kind = prop_oneof![
            Just(EntryKind::File),
            Just(EntryKind::Directory),
            bytes(300).prop_map(EntryKind::Symlink)
        ];
        (bytes(300), kind, 0..0o10000_u32, -1_i64 << 34..1_i64 << 34, 0..1_000_000_000_u32, content)
            .prop_map(|(mut path, kind, mode, seconds, nanoseconds, mut content)| {
                // A file's name that ends with a slash is that of a directory.
                path.push(b'x');
                if kind != EntryKind::File {
                    content = Vec::new();
                }
                let (modified, size) = (Time { seconds, nanoseconds }, content.len() as u64);
                (Entry { path, kind, mode, modified, size }, content)
            })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(entries in prop::collection::vec(entry(), 0..5)) {
            prop_assert_eq!(read(&write(&entries)).unwrap(), entries);
        }

        #[test]
        fn what_is_cut_off_is_told(entries in prop::collection::vec(entry(), 0..3), part: prop::sample::Index) {
            let bytes = write(&entries);
            // The end is two blocks of zeros, of which one would do.
            let kept = part.index(bytes.len() - 2 * BLOCK + 1);
            prop_assert!(matches!(read(&bytes[..kept]), Err(TarError::Cut(_))));
        }

        #[test]
        fn anything_else_is_refused_or_read_but_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
            let _read: Result<_, _> = read(&bytes);
        }
    }

    #[test]
    fn times_before_1970_and_fractions_are_read() {
        let at = |seconds, nanoseconds| Some(Time { seconds, nanoseconds });
        assert_eq!(time("12"), at(12, 0));
        assert_eq!(time("12.5"), at(12, 500_000_000));
        assert_eq!(time("12.1234567891"), at(12, 123_456_789));
        assert_eq!(time("-1.25"), at(-2, 750_000_000));
        for wrong in ["", "x", "1.x", "1.-5"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_file_whose_name_ends_with_a_slash_is_a_directory_also_where_it_is_contiguous() {
        for kind in [EntryType::Regular, EntryType::Continuous] {
            let mut header = Header::new_ustar();
            header.set_entry_type(kind);
            header.set_path("a/").unwrap();
            header.set_mode(0o644);
            header.set_mtime(0);
            header.set_size(0);
            header.set_cksum();
            let bytes = [header.as_bytes().as_slice(), &[0; 2 * BLOCK]].concat();
            let (entry, _) = read(&bytes).unwrap().remove(0);
            assert_eq!((entry.kind, entry.path.as_slice()), (EntryKind::Directory, &b"a/"[..]));
        }
    }

    #[test]
    fn a_name_takes_no_more_memory_than_there_is_for_it() {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::GNULongName);
        header.set_size(1 << 40);
        header.set_cksum();
        assert!(matches!(read(header.as_bytes()), Err(TarError::Broken(_))));
    }
}
