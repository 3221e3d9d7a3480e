//! What a rule makes of one path.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Kind, Place, Placeholder,
    resolve::{Resolved, resolve},
};
use crate::machine::{can_make_in, user};

/// Whether nothing is there.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What is there, without symbolic links in its path.
pub(super) fn place(rule: FileRule, path: PathBuf) -> Result<Place, InvalidPlaces> {
    let kind = match fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Kind::Directory,
        Ok(_) => Kind::File,
        Err(error) => return Err(InvalidPlaces::Unreadable(rule, path, error)),
    };
    let is_device = path.starts_with("/dev") && path != Path::new("/dev");
    let is_made_anew = path.starts_with("/proc") || path.starts_with("/dev");
    if is_made_anew && !(is_device && rule.access == Access::Write) {
        return Err(InvalidPlaces::MadeAnew(rule));
    }
    Ok(Place { path, kind, exists: true, rule })
}

/// What agents have made where a rule's place is missing.
pub(super) fn guarded(rule: &FileRule, path: &Path) -> Option<Placeholder> {
    matches!(rule.if_missing, IfMissing::Guard(_)).then(|| Placeholder::find(path))?
}

/// The first name of a path that is not there, or the file where a directory would have to be; `None` where no command could make it.
pub(super) fn guard(
    rule: &FileRule,
    path: &Path,
    kind: Kind,
) -> Result<Option<Place>, InvalidPlaces> {
    let rule = || rule.clone();
    let mut missing = path;
    for parent in path.ancestors().skip(1) {
        match resolve(parent) {
            // What is missing is to be mounted on, not what others mount on.
            Ok(Resolved { path, .. }) if Placeholder::find(&path).is_some() => missing = parent,
            Ok(Resolved { path: parent, .. }) if parent.is_dir() => {
                let kind = if missing == path { kind } else { Kind::Directory };
                let path = parent.join(missing.file_name().unwrap_or_default());
                // A link that leads nowhere: a command could make what it leads to.
                if path.is_symlink() {
                    return Err(InvalidPlaces::LeadsOut(rule(), path, missing.to_owned()));
                }
                let place = Place { path, kind, exists: false, rule: rule() };
                return Ok(can_make_in(&parent).then_some(place));
            }
            Ok(Resolved { path, .. }) => {
                return Ok(Some(Place { path, kind: Kind::File, exists: true, rule: rule() }));
            }
            Err(error) if is_absent(&error) => missing = parent,
            Err(error) => return Err(InvalidPlaces::Unreadable(rule(), parent.to_owned(), error)),
        }
    }
    Err(InvalidPlaces::Missing(rule(), path.to_owned()))
}

/// Returns whether what the agent's user may not look into is another user's, or lies in a directory
/// of another user that can't be entered: commands can't change that.
pub(super) fn is_closed_to_commands(path: &Path, error: &io::Error) -> bool {
    let mut found = path.ancestors().filter_map(|path| path.symlink_metadata().ok());
    error.kind() == io::ErrorKind::PermissionDenied
        && found.next().is_some_and(|metadata| metadata.uid() != user())
}
