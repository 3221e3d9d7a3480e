//! What of repositories may not be written besides their `.git`.

use std::path::{Path, PathBuf};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Kind, Place, Placeholder, Places,
    at_path::{guard, guarded, is_absent, is_closed_to_commands, place},
    git_layout,
    invalid_places::MAX_MATCHES,
    resolve::{Resolved, resolve},
};

/// Has what git reads of repositories besides their `.git` read-only, too, and what it goes into from there by itself: submodules,
/// also where none has been checked out. All of that may be what a command has made before.
pub(super) fn with_repositories(
    mut places: Places,
    mut left: Vec<(FileRule, PathBuf)>,
) -> Result<Places, InvalidPlaces> {
    let mut count = 0;
    while let Some((rule, dot_git)) = left.pop() {
        let rule = FileRule { if_missing: IfMissing::Guard(Kind::Directory), ..rule };
        for directory in git_layout::directories(&dot_git) {
            if places.access(&directory) == Access::Write && !dot_git.starts_with(&directory) {
                places = places.with(place(rule.clone(), directory)?);
            }
        }
        let submodules = match git_layout::submodules(&dot_git, MAX_MATCHES) {
            Err(error) if is_closed_to_commands(&dot_git, &error) => continue,
            Err(error) => return Err(InvalidPlaces::Unreadable(rule, dot_git, error)),
            Ok(submodules) => submodules,
        };
        count += submodules.len();
        if count > MAX_MATCHES {
            return Err(InvalidPlaces::TooMany(rule));
        }
        for submodule in submodules {
            let path = dot_git.with_file_name(submodule);
            if places.access(&path) == Access::Write
                && let Some(place) = submodule_place(&rule, &path)?
            {
                if place.path.ends_with(".git") {
                    left.push((rule.clone(), place.path.clone()));
                }
                places = places.with(place);
            }
        }
    }
    Ok(places)
}

/// What is not to be written of a submodule: its repository, or while it has none the directory in which that would be.
fn submodule_place(rule: &FileRule, path: &Path) -> Result<Option<Place>, InvalidPlaces> {
    match resolve(path) {
        // Git does not follow one to a submodule.
        Ok(Resolved { links, .. }) if !links.is_empty() => Ok(None),
        Ok(_) => {
            if let Some(Placeholder { path, kind }) = guarded(rule, path) {
                return Ok(Some(Place { path, kind, exists: false, rule: rule.clone() }));
            }
            let dot_git = path.join(".git");
            if dot_git.is_symlink() {
                return Err(InvalidPlaces::LeadsOut(rule.clone(), dot_git.clone(), dot_git));
            }
            let has_repository = dot_git.symlink_metadata().is_ok();
            let path = if has_repository { dot_git } else { path.to_owned() };
            place(rule.clone(), path).map(Some)
        }
        Err(error) if is_absent(&error) => guard(rule, path, Kind::Directory),
        Err(error) => Err(InvalidPlaces::Unreadable(rule.clone(), path.to_owned(), error)),
    }
}
