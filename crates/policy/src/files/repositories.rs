//! What of repositories may not be written: where they are looked for outside of the workspace, and what belongs to them besides `.git`.

use std::path::{Component, Path, PathBuf};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Kind, Place, Placeholder, Places,
    at_path::{guard, guarded, is_absent, is_closed_to_commands, place},
    git_index::EntriesLeft,
    git_layout,
    invalid_places::MAX_MATCHES,
    pattern::Start,
    resolve::{Resolved, resolve},
    rule::Origin,
    tool_settings::is_tool_setting,
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

/// All places, but those for repositories and tool settings only where commands could write without
/// them: a rule that says that one may only be read opens nothing that is hidden. The clones that builds keep in their caches are theirs to change.
pub(super) fn only_where_writable(
    mut places: Vec<Place>,
    mut absent: Vec<(PathBuf, FileRule)>,
) -> Places {
    let only_narrows = |rule: &FileRule| is_of_git(rule) || is_tool_setting(rule);
    let is_other = |place: &&Place| !only_narrows(&place.rule);
    let others = Places::new(places.iter().filter(is_other).cloned().collect(), Vec::new());
    let is_writable = |place: &Place| {
        place.rule.access == Access::Write && place.rule.origin != Origin::Preset(Preset::Caches)
    };
    let is_kept = |rule: &FileRule, path: &Path| {
        !only_narrows(rule) || others.deciding(path).is_some_and(is_writable)
    };
    places.retain(|place| is_kept(&place.rule, &place.path));
    absent.retain(|(path, rule)| is_kept(rule, path));
    Places::new(places, absent)
}

pub(super) fn is_of_git(rule: &FileRule) -> bool {
    matches!(rule.origin, Origin::Preset(Preset::Git | Preset::Commits))
}

/// Has what git reads of repositories besides their `.git` read-only, too, and what it goes into from there by itself: submodules,
/// also where none has been checked out. All of that may be what a command has made before.
pub(super) fn with_repositories(
    mut places: Places,
    mut left: Vec<(FileRule, PathBuf)>,
) -> Result<Places, InvalidPlaces> {
    let mut count = 0;
    let mut entries_left = EntriesLeft::default();
    while let Some((rule, dot_git)) = left.pop() {
        let rule = FileRule { if_missing: IfMissing::Guard(Kind::Directory), ..rule };
        for directory in git_layout::directories(&dot_git) {
            if places.access(&directory) == Access::Write && !dot_git.starts_with(&directory) {
                let place = place(rule.clone(), directory)?;
                if is_writable(&places, &place) {
                    places = places.with(place);
                }
            }
        }
        let submodules = match git_layout::submodules(&dot_git, MAX_MATCHES, &mut entries_left) {
            Err((_, error)) if is_closed_to_commands(&dot_git, &error) => continue,
            Err((index, error)) => return Err(InvalidPlaces::Unreadable(rule, index, error)),
            Ok(submodules) => submodules,
        };
        count += submodules.len();
        if count > MAX_MATCHES {
            return Err(InvalidPlaces::TooMany(rule));
        }
        for submodule in submodules.into_iter().filter(|name| is_below(Path::new(name))) {
            let path = dot_git.with_file_name(submodule);
            if places.access(&path) == Access::Write
                && let Some(place) = submodule_place(&rule, &path)?
                && is_writable(&places, &place)
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

/// Returns whether commands may write what a place leads to. A command can have written what git reads here: it opens nothing that another
/// rule closes.
fn is_writable(places: &Places, place: &Place) -> bool {
    places.access(&place.path) == Access::Write
}

/// Returns whether a name of an index is one of git's: below the repository, and in no `.git`.
fn is_below(name: &Path) -> bool {
    name.components()
        .all(|part| matches!(part, Component::Normal(name) if !name.eq_ignore_ascii_case(".git")))
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
