use std::{
    ffi::OsString,
    fs::{self, FileType},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, InvalidPlaces,
    at_path::{is_absent, is_closed_to_commands},
    invalid_places::{MAX_LOOKS, MAX_MATCHES},
    pattern::Segment,
};
use crate::wildcard;

/// The search for what a path with wildcards means. It follows no symbolic links to directories, and doesn't look into `/proc`; what may be
/// written because of a wildcard is none, either: it would be another place.
pub(super) struct Search<'a> {
    rule: &'a FileRule,
    looks: usize,
    pub(super) matches: Vec<PathBuf>,
}

impl<'a> Search<'a> {
    pub(super) fn new(rule: &'a FileRule) -> Self {
        Self { rule, looks: 0, matches: Vec::new() }
    }

    pub(super) fn find(
        &mut self,
        path: PathBuf,
        segments: &[Segment],
    ) -> Result<(), InvalidPlaces> {
        match segments {
            [] => {
                self.matches.push(path);
                self.check(self.matches.len() > MAX_MATCHES)
            }
            [Segment::Name(name), rest @ ..] => {
                let path = path.join(name);
                // What a wildcard is followed by need not be everywhere.
                if path.symlink_metadata().is_ok() { self.find(path, rest) } else { Ok(()) }
            }
            [Segment::Wild(pattern), rest @ ..] => {
                let may_be_link = self.rule.access != Access::Write;
                for (name, file_type) in self.read(&path)? {
                    let is_match = wildcard::matches(pattern.as_bytes(), name.as_bytes());
                    let path = path.join(name);
                    let is_meant = if rest.is_empty() {
                        may_be_link || !file_type.is_symlink()
                    } else {
                        file_type.is_dir() && path != Path::new("/proc")
                    };
                    if is_match && is_meant {
                        self.find(path, rest)?;
                    }
                }
                Ok(())
            }
            [Segment::AnyDepth, rest @ ..] => {
                self.find(path.clone(), rest)?;
                for (name, file_type) in self.read(&path)? {
                    let path = path.join(name);
                    if file_type.is_dir() && path != Path::new("/proc") {
                        self.find(path, segments)?;
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn read(&mut self, path: &Path) -> Result<Vec<(OsString, FileType)>, InvalidPlaces> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(Vec::new()),
            Err(error) if is_closed_to_commands(path, &error) => return Ok(Vec::new()),
            Err(error) => return Err(self.unreadable(path, error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.unreadable(path, error))?;
            let file_type = entry.file_type().map_err(|error| self.unreadable(path, error))?;
            names.push((entry.file_name(), file_type));
            self.looks += 1;
            self.check(self.looks > MAX_LOOKS)?;
        }
        Ok(names)
    }

    pub(super) fn check(&self, is_too_many: bool) -> Result<(), InvalidPlaces> {
        if is_too_many { Err(InvalidPlaces::TooMany(self.rule.clone())) } else { Ok(()) }
    }

    fn unreadable(&self, path: &Path, error: io::Error) -> InvalidPlaces {
        InvalidPlaces::Unreadable(self.rule.clone(), path.to_owned(), error)
    }
}
