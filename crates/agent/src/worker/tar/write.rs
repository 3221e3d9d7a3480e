use std::io::{self, Read, Write};

use tar::{EntryType, Header};

use crate::worker::metadata::{Attributes, Time};

/// The size of a block: what is shorter is padded.
const BLOCK: usize = 512;
/// How much of a file is copied at once.
const BUFFER: usize = 128 * 1024;
/// The longest path or link that the old header takes.
const MAX_NAME: usize = 100;
/// The first number that the old header has no digits for, where it has eleven.
const LARGE: u64 = 1 << 33;

/// Records of why a stream ends early, as the status of HTTP that it would have been answered with, and in words. Keywords in capitals are for
/// implementations (POSIX, pax, "pax Extended Header Keyword Precedence").
const FAILURE_STATUS: &str = "SANDPIPE.failure.status";
const FAILURE_MESSAGE: &str = "SANDPIPE.failure.message";

/// Writes a tar stream.
pub(in crate::worker) struct Writer<W> {
    stream: W,
    buffer: Vec<u8>,
    /// Whether another entry may begin.
    is_between: bool,
}

/// What is known of an entry that is written.
pub(in crate::worker) struct Written<'a> {
    pub(in crate::worker) path: &'a [u8],
    pub(in crate::worker) kind: EntryType,
    pub(in crate::worker) mode: u32,
    pub(in crate::worker) modified: Time,
    /// Of a symbolic link.
    pub(in crate::worker) link: &'a [u8],
    pub(in crate::worker) size: u64,
    /// Major and minor numbers of a device.
    pub(in crate::worker) device: Option<(u32, u32)>,
}

/// Why an entry is not written to its end. The stream can't be gone on with then.
#[derive(Debug, thiserror::Error)]
pub(in crate::worker) enum AppendError {
    /// Its content can't be read; `UnexpectedEof` where it is shorter than its size.
    #[error(transparent)]
    Read(io::Error),
    /// The stream can't be written.
    #[error(transparent)]
    Write(io::Error),
}

/// How a stream ends in which not all is.
#[must_use]
pub(in crate::worker) enum Ended {
    /// It says why.
    Reported,
    /// Within an entry, where nothing can be said.
    InsideEntry,
}

impl<W: Write> Writer<W> {
    pub(in crate::worker) fn new(stream: W) -> Self {
        Self { stream, buffer: vec![0; BUFFER], is_between: true }
    }

    /// Writes an entry with its content.
    pub(in crate::worker) fn append(
        &mut self,
        entry: &Written<'_>,
        mut content: impl Read,
    ) -> Result<(), AppendError> {
        self.is_between = false;
        self.write_header(entry, Vec::new()).map_err(AppendError::Write)?;
        let mut left = entry.size;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
            let buffer = self.buffer.get_mut(..wanted).unwrap_or_default();
            let count = match content.read(buffer) {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                count => count,
            };
            let count = count.map_err(AppendError::Read)?;
            let bytes = buffer.get(..count).unwrap_or_default();
            self.stream.write_all(bytes).map_err(AppendError::Write)?;
            left -= count as u64;
        }
        self.pad(entry.size).map_err(AppendError::Write)?;
        self.is_between = true;
        Ok(())
    }

    /// Says why the stream ends before all is in it, by records of an extended header, of the directory that is packed: a program that
    /// unpacks it has one for it already, and sets its mode and time. Then the stream breaks off in another extended header: most programs
    /// would take it for whole if it ended behind an entry, and none does so.
    pub(in crate::worker) fn fail(
        mut self,
        status: u16,
        message: &str,
        directory: &Attributes,
    ) -> io::Result<Ended> {
        if !self.is_between {
            return Ok(Ended::InsideEntry);
        }
        let mut records = Vec::new();
        push_record(&mut records, FAILURE_STATUS, status.to_string().as_bytes());
        push_record(&mut records, FAILURE_MESSAGE, message.as_bytes());
        let entry = Written {
            path: b"./",
            kind: EntryType::Directory,
            mode: directory.mode,
            modified: directory.modified,
            link: b"",
            size: 0,
            device: None,
        };
        self.write_header(&entry, records)?;
        self.write_records_header(BLOCK as u64)?;
        self.stream.flush()?;
        Ok(Ended::Reported)
    }

    /// Writes the end of the stream.
    pub(in crate::worker) fn finish(mut self) -> io::Result<()> {
        self.stream.write_all(&[0; 2 * BLOCK])?;
        self.stream.flush()
    }

    /// Writes the header of an entry, with these records and what it has no room for in an extended one before it.
    fn write_header(&mut self, entry: &Written<'_>, mut records: Vec<u8>) -> io::Result<()> {
        let Time { seconds, nanoseconds } = entry.modified;
        let shown = u64::try_from(seconds).unwrap_or_default().min(LARGE - 1);
        if nanoseconds > 0 || i64::try_from(shown) != Ok(seconds) {
            push_record(&mut records, "mtime", decimal(entry.modified).as_bytes());
        }
        if entry.path.len() > MAX_NAME {
            push_record(&mut records, "path", entry.path);
        }
        if entry.link.len() > MAX_NAME {
            push_record(&mut records, "linkpath", entry.link);
        }
        if entry.size >= LARGE {
            push_record(&mut records, "size", entry.size.to_string().as_bytes());
        }
        if !records.is_empty() {
            self.write_records(&records)?;
        }
        let mut header = Header::new_ustar();
        header.set_entry_type(entry.kind);
        set_name(&mut header, entry.path);
        header.set_mode(entry.mode);
        header.set_mtime(shown);
        header.set_size(entry.size);
        let link = entry.link.get(..MAX_NAME).unwrap_or(entry.link);
        for (place, byte) in header.as_old_mut().linkname.iter_mut().zip(link) {
            *place = *byte;
        }
        if let Some((major, minor)) = entry.device {
            header.set_device_major(major)?;
            header.set_device_minor(minor)?;
        }
        header.set_cksum();
        self.stream.write_all(header.as_bytes())
    }

    /// Writes an extended header, for the entry that follows.
    fn write_records(&mut self, records: &[u8]) -> io::Result<()> {
        let size = records.len() as u64;
        self.write_records_header(size)?;
        self.stream.write_all(records)?;
        self.pad(size)
    }

    /// Writes the header of an extended header, which so many bytes of records follow.
    fn write_records_header(&mut self, size: u64) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::XHeader);
        set_name(&mut header, b"pax");
        header.set_mode(0o644);
        header.set_size(size);
        header.set_cksum();
        self.stream.write_all(header.as_bytes())
    }

    fn pad(&mut self, size: u64) -> io::Result<()> {
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        let padding = [0; BLOCK];
        let rest = if over == 0 { 0 } else { BLOCK - over };
        self.stream.write_all(padding.get(..rest).unwrap_or_default())
    }
}

/// As much of a name as there is room for.
fn set_name(header: &mut Header, name: &[u8]) {
    for (place, byte) in header.as_old_mut().name.iter_mut().zip(name) {
        *place = *byte;
    }
}

/// `LENGTH KEY=VALUE` and a newline, where the length is that of all of it (POSIX, pax, "pax Extended Header").
fn push_record(records: &mut Vec<u8>, key: &str, value: &[u8]) {
    let rest = key.len() + value.len() + " =\n".len();
    let mut length = rest + 1;
    // With its own digits.
    while length != rest + digits(length) {
        length = rest + digits(length);
    }
    records.extend_from_slice(format!("{length} {key}=").as_bytes());
    records.extend_from_slice(value);
    records.push(b'\n');
}

/// Seconds since 1970 with a fraction. Before that it counts backwards: nanoseconds are always behind the second.
fn decimal(Time { seconds, nanoseconds }: Time) -> String {
    if seconds < 0 && nanoseconds > 0 {
        let fraction = 1_000_000_000_u32.saturating_sub(nanoseconds);
        format!("-{}.{fraction:09}", seconds.saturating_add(1).unsigned_abs())
    } else {
        format!("{seconds}.{nanoseconds:09}")
    }
}

fn digits(number: usize) -> usize {
    number.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_count_themselves() {
        for length in 0..2_000 {
            let mut records = Vec::new();
            push_record(&mut records, "path", &vec![b'x'; length]);
            let text = String::from_utf8(records).unwrap();
            let (count, _) = text.split_once(' ').unwrap();
            assert_eq!(count.parse::<usize>().unwrap(), text.len());
        }
    }

    #[test]
    fn which_side_fails_is_said() {
        /// The writer is what nobody reads any more, and the content a file of a system whose server is gone.
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let entry = Written {
            path: b"file",
            kind: EntryType::Regular,
            mode: 0o644,
            modified: Time { seconds: 0, nanoseconds: 0 },
            link: b"",
            size: 1,
            device: None,
        };
        let read = Writer::new(Vec::new()).append(&entry, Broken);
        assert!(matches!(read, Err(AppendError::Read(_))), "{read:?}");
        let written = Writer::new(Broken).append(&entry, &b"x"[..]);
        assert!(matches!(written, Err(AppendError::Write(_))), "{written:?}");
    }

    #[test]
    fn a_time_is_in_the_header_as_far_as_there_are_digits_for_it() {
        let last = i64::try_from(LARGE).unwrap() - 1;
        for (seconds, digits, record) in [
            (0, b"00000000000", None),
            (last, b"77777777777", None),
            (last + 1, b"77777777777", Some("8589934592.000000000")),
            (-1, b"00000000000", Some("-1.000000000")),
        ] {
            let mut stream = Vec::new();
            let entry = Written {
                path: b"file",
                kind: EntryType::Regular,
                mode: 0o644,
                modified: Time { seconds, nanoseconds: 0 },
                link: b"",
                size: 0,
                device: None,
            };
            Writer::new(&mut stream).append(&entry, io::empty()).unwrap();
            let (records, header) = stream.split_at(stream.len() - BLOCK);
            assert_eq!(&header[136..147], digits, "{seconds}");
            let records = String::from_utf8_lossy(records);
            assert_eq!(records.is_empty(), record.is_none(), "{seconds}");
            assert!(records.contains(record.unwrap_or_default()), "{records}");
        }
    }
}
