//! Mounts, as `/proc/PID/mountinfo` lists them (proc(5)).

use std::{ffi::OsString, os::unix::ffi::OsStringExt, path::PathBuf};

/// Mount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mounted {
    pub(crate) id: u32,
    pub(crate) parent: u32,
    /// Major and minor number, which all mounts of a file system have in common.
    pub(crate) device: String,
    /// The directory of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Where it is mounted.
    pub(crate) point: PathBuf,
    pub(crate) is_read_only: bool,
}

/// Reads all lines that are mounts.
pub(crate) fn parse(mountinfo: &[u8]) -> Vec<Mounted> {
    mountinfo.split(|byte| *byte == b'\n').filter_map(mounted).collect()
}

/// Reads a line: number, parent, device, root, place, options, and what follows.
fn mounted(line: &[u8]) -> Option<Mounted> {
    let mut fields = line.split(|byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (id, parent) = (text()?.parse().ok()?, text()?.parse().ok()?);
    let device = text()?.to_owned();
    let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
    let is_read_only = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"ro");
    Some(Mounted { id, parent, device, root, point, is_read_only })
}

/// Decodes a path in which space, tab, line feed and backslash are octal numbers.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).filter(|_| *first == b'\\');
        let octal = octal.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            bytes.push(byte);
            rest = after.get(3..).unwrap_or_default();
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn fields_are_read_as_the_kernel_writes_them() {
        assert_eq!(unescaped(br"/a\040b\134c\011"), Path::new("/a b\\c\t"));
        assert_eq!(unescaped(br"/a\04"), Path::new(r"/a\04"));
        for wrong in ["", "7", "1 2\n\nx", "x 1 0:40 / / rw", "7 1 0:40 /"] {
            assert_eq!(parse(wrong.as_bytes()), [], "{wrong}");
        }
        let line =
            br"25 23 8:2 /os/var /mnt/with\040space rw,relatime,ro shared:1 - ext4 /dev/x rw";
        let mount = Mounted {
            id: 25,
            parent: 23,
            device: "8:2".into(),
            root: "/os/var".into(),
            point: "/mnt/with space".into(),
            is_read_only: true,
        };
        assert_eq!(parse(line), [mount]);
    }
}
