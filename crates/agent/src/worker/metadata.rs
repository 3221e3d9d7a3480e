use std::{
    ffi::OsStr,
    os::fd::AsFd,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{AtFlags, FileType, Stat, readlinkat, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

/// What is known of a file without opening it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Metadata {
    /// What the name itself is.
    pub(crate) kind: Kind,
    /// What a symbolic link says.
    pub(crate) link: Option<Vec<u8>>,
    /// Of what a symbolic link leads to, where it leads somewhere.
    pub(crate) attributes: Attributes,
}

/// What an open file says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attributes {
    pub(crate) kind: Kind,
    pub(crate) inode: u64,
    /// In bytes.
    pub(crate) size: u64,
    /// Permission bits.
    pub(crate) mode: u32,
    pub(crate) modified: Time,
    pub(crate) changed: Time,
}

/// Since 1970; the seconds may be negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    File,
    Directory,
    Symlink,
    Fifo,
    Socket,
    Device,
}

/// The last second that has four digits for its year, 9999-12-31T23:59:59Z: dates have no other years (RFC 3339, RFC 9110).
const LAST_SECOND: u64 = 253_402_300_799;

impl Time {
    /// The nearest time from 1970 to 9999.
    pub(crate) fn nearest(self) -> SystemTime {
        let seconds = u64::try_from(self.seconds).unwrap_or_default().min(LAST_SECOND);
        UNIX_EPOCH + Duration::new(seconds, self.nanoseconds.min(999_999_999))
    }
}

impl Kind {
    pub(crate) fn of(stat: &Stat) -> Self {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            _ => Self::Device,
        }
    }

    /// As a sentence goes on with it.
    pub(crate) fn described(self) -> &'static str {
        match self {
            Self::File => "is a file",
            Self::Directory => "is a directory",
            Self::Symlink => "is a symbolic link",
            Self::Fifo => "is a FIFO",
            Self::Socket => "is a socket",
            Self::Device => "is a device",
        }
    }
}

impl Attributes {
    // The types of these fields differ by machine.
    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss, clippy::cast_possible_truncation)]
    pub(crate) fn of(stat: &Stat) -> Self {
        let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
        Self {
            kind: Kind::of(stat),
            inode: stat.st_ino as u64,
            size: stat.st_size as u64,
            mode: stat.st_mode as u32 & 0o7777,
            modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        }
    }
}

impl Metadata {
    /// That of a name in a directory.
    pub(crate) fn of(directory: impl AsFd, name: &OsStr) -> Result<Self, Errno> {
        let own = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if Kind::of(&own) != Kind::Symlink {
            let attributes = Attributes::of(&own);
            return Ok(Self { kind: attributes.kind, link: None, attributes });
        }
        let link = readlinkat(&directory, name, Vec::new())?.into_bytes();
        let target = statat(&directory, name, AtFlags::empty()).unwrap_or(own);
        Ok(Self { kind: Kind::Symlink, link: Some(link), attributes: Attributes::of(&target) })
    }
}
