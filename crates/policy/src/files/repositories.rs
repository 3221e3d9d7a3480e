//! What of repositories may not be written: where they are looked for outside of the workspace, and what belongs to them besides `.git`.

use std::path::{Path, PathBuf};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Kind, Place, Placeholder, Places,
    at_path::{guard, guarded, is_absent, is_closed_to_commands, place},
    git_layout,
    invalid_places::MAX_MATCHES,
    pattern::Start,
    resolve::{Resolved, resolve},
    rule::Origin,
};
use crate::effective::Preset;

/// The rules for repositories in the workspace, for each other place that a policy itself lets commands write. Nothing is made in those
/// places to guard what is missing.
pub(super) fn repositories_elsewhere(rules: &[FileRule]) -> Vec<FileRule> {
    let is_elsewhere = |rule: &&FileRule| {
        rule.origin == Origin::Policy
            && rule.access == Access::Write
            && rule.path.start != (Start::Workspace { above: 0 })
    };
    let in_place = |place: &FileRule| {
        let of_git = rules.iter().filter(|rule| is_of_git(rule));
        let moved = of_git.map(|rule| FileRule {
            path: rule.path.moved_to(&place.path),
            if_missing: IfMissing::Skip,
            ..rule.clone()
        });
        moved.collect::<Vec<_>>()
    };
    rules.iter().filter(is_elsewhere).flat_map(in_place).collect()
}

/// All places, but those for repositories only where commands could write without them: a rule that says that a repository may only be
/// read opens nothing that is hidden. The clones that builds keep in their caches are theirs to change.
pub(super) fn only_where_writable(
    mut places: Vec<Place>,
    mut absent: Vec<(PathBuf, FileRule)>,
) -> Places {
    let is_other = |place: &&Place| !is_of_git(&place.rule);
    let others = Places::new(places.iter().filter(is_other).cloned().collect(), Vec::new());
    let is_writable = |place: &Place| {
        place.rule.access == Access::Write && place.rule.origin != Origin::Preset(Preset::Caches)
    };
    let is_kept = |rule: &FileRule, path: &Path| {
        !is_of_git(rule) || others.deciding(path).is_some_and(is_writable)
    };
    places.retain(|place| is_kept(&place.rule, &place.path));
    absent.retain(|(path, rule)| is_kept(rule, path));
    Places::new(places, absent)
}

fn is_of_git(rule: &FileRule) -> bool {
    matches!(rule.origin, Origin::Preset(Preset::Git | Preset::Commits))
}

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
