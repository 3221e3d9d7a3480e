use std::{os::unix::ffi::OsStrExt, path::Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use sandpipe_protocol::{FileInfo, FileType};

use crate::worker::{Kind, Metadata, Time};

/// All but what RFC 3986 calls unreserved (2.3), and the slash.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// What a client is told of a file.
pub(super) fn file_info(path: &Path, metadata: &Metadata) -> FileInfo {
    let attributes = &metadata.attributes;
    let name = path.file_name().unwrap_or(path.as_os_str());
    FileInfo {
        name: name.to_string_lossy().into_owned(),
        path: path.to_string_lossy().into_owned(),
        is_dir: attributes.kind == Kind::Directory,
        size: attributes.size,
        mod_time: rfc3339(attributes.modified),
        kind: Some(file_type(metadata.kind)),
        mode: Some(attributes.mode),
        link_target: metadata.link.as_deref().map(|link| String::from_utf8_lossy(link).into()),
        raw: raw(path),
    }
}

/// A path percent-encoded, where it is not UTF-8.
fn raw(path: &Path) -> Option<String> {
    path.to_str().is_none().then(|| encoded(path))
}

/// A path percent-encoded.
pub(super) fn encoded(path: &Path) -> String {
    percent_encode(path.as_os_str().as_bytes(), ENCODED).to_string()
}

fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::File => FileType::File,
        Kind::Directory => FileType::Directory,
        Kind::Symlink => FileType::Symlink,
        Kind::Fifo => FileType::Fifo,
        Kind::Socket => FileType::Socket,
        Kind::Device => FileType::Device,
    }
}

/// In UTC, with nanoseconds where there are any. What has no such text is the nearest that has.
fn rfc3339(time: Time) -> String {
    humantime::format_rfc3339(time.nearest()).to_string()
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, path::PathBuf};

    use super::*;

    #[test]
    fn a_name_that_is_not_utf_8_is_given_raw_too() {
        let path = PathBuf::from(OsStr::from_bytes(b"/a b/\xff~.txt"));
        assert_eq!(raw(&path).unwrap(), "/a%20b/%FF~.txt");
        assert_eq!(raw(Path::new("/a b/\u{e4}")), None);
    }

    #[test]
    fn times_are_written_as_far_as_they_can_be() {
        let text = |seconds, nanoseconds| rfc3339(Time { seconds, nanoseconds });
        assert_eq!(text(0, 0), "1970-01-01T00:00:00Z");
        assert_eq!(text(1_769_862_896, 789_000_001), "2026-01-31T12:34:56.789000001Z");
        assert_eq!(text(-1, 5), "1970-01-01T00:00:00.000000005Z");
        assert_eq!(text(i64::MAX, 0), "9999-12-31T23:59:59Z");
    }
}
