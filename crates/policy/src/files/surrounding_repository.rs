//! The repository that a workspace lies in, or is a linked working tree or a submodule of: git in the
//! workspace reads it also where a private directory such as `/tmp` hides it, and writes it where
//! commands may commit.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Origin, Place, Places,
    at_path::{guard, guarded, is_absent, place},
    git_layout,
    git_settings::{git_settings, is_of_commits},
    repositories::is_of_git,
    resolve::{Resolved, resolve},
};
use crate::effective::Preset;

/// Has the repository of a workspace be there with its working tree: read-only, but for the repository
/// itself where commands may commit.
pub(super) fn with_surrounding_repository(
    mut places: Places,
    rules: &[FileRule],
    workspace: &Path,
) -> Result<Places, InvalidPlaces> {
    let Some(rule) = rules.iter().find(|rule| is_of_git(rule)) else {
        return Ok(places);
    };
    let is_repository = |tree: &&Path| {
        let dot_git = tree.join(".git").symlink_metadata();
        dot_git.is_ok_and(|found| found.is_file() || tree.join(".git/HEAD").is_file())
    };
    let Some(tree) = workspace.ancestors().find(is_repository) else {
        return Ok(places);
    };
    let dot_git = tree.join(".git");
    let is_around = tree != workspace;
    // A private directory as a whole stays private, also where somebody has made it a repository.
    if is_around
        && of_system(&places, tree).is_some_and(|place| is_private(place) && place.path == tree)
    {
        return Ok(places);
    }
    let named = if dot_git.is_file() { named(&dot_git, tree) } else { None };
    let within = (is_around && !dot_git.is_symlink() && dot_git.is_dir()).then_some(dot_git);
    let may_commit = is_of_commits(rule) && places.access(workspace) == Access::Write;
    let mut opened = Vec::new();
    match named.or(within) {
        Some(repository) if may_commit && of_system(&places, &repository).is_some() => {
            opened = with_commits(rule, repository)?;
        }
        Some(repository) if of_system(&places, &repository).is_some_and(is_private) => {
            opened.push(read(rule, &repository)?);
        }
        _ => {}
    }
    if is_around && of_system(&places, tree).is_some_and(is_private) {
        opened.push(read(rule, tree)?);
    }
    for place in opened {
        places = places.with(place);
    }
    Ok(places)
}

fn is_private(place: &Place) -> bool {
    place.rule.access == Access::Private
}

fn read(rule: &FileRule, path: &Path) -> Result<Place, InvalidPlaces> {
    place(rule.at(path, IfMissing::Skip), path.to_owned())
}

/// Has commands write a repository, but for what git runs without being asked.
fn with_commits(rule: &FileRule, repository: PathBuf) -> Result<Vec<Place>, InvalidPlaces> {
    let settings = git_settings(rule, &repository)?;
    let opens = FileRule { access: Access::Write, ..rule.at(&repository, IfMissing::Skip) };
    let mut places = vec![place(opens, repository)?];
    for (rule, path) in settings {
        places.extend(protected(rule, &path)?);
    }
    Ok(places)
}

/// The place that decides for a path, if it is of the part for the system.
fn of_system<'a>(places: &'a Places, path: &Path) -> Option<&'a Place> {
    let is_of_system = |place: &&Place| place.rule.origin == Origin::Preset(Preset::System);
    places.deciding(path).filter(is_of_system)
}

/// What is not to be written of a repository. A link can be exchanged for another.
fn protected(rule: FileRule, path: &Path) -> Result<Option<Place>, InvalidPlaces> {
    match resolve(path) {
        Ok(Resolved { path, links }) => match links.into_iter().next() {
            Some(link) => Err(InvalidPlaces::LeadsOut(rule, link, path)),
            None => match guarded(&rule, &path) {
                Some(found) => {
                    Ok(Some(Place { path: found.path, kind: found.kind, exists: false, rule }))
                }
                None => place(rule, path).map(Some),
            },
        },
        Err(error) if is_absent(&error) => match rule.if_missing {
            IfMissing::Guard(kind) => guard(&rule, path, kind),
            IfMissing::Fail | IfMissing::Skip => Ok(None),
        },
        Err(error) => Err(InvalidPlaces::Unreadable(rule, path.to_owned(), error)),
    }
}

/// Finds the repository that a file `.git` names, if that names the working tree itself: a command may
/// have written the file, which then opens nothing.
fn named(dot_git: &Path, tree: &Path) -> Option<PathBuf> {
    match git_layout::directories(dot_git).as_slice() {
        [own, common] if is_linked(own, common, dot_git) => Some(common.clone()),
        [module] if git_layout::named_tree(module).is_some_and(|named| named == tree) => {
            Some(module.clone())
        }
        _ => None,
    }
}

/// Returns whether a repository itself names a working tree.
fn is_linked(own: &Path, common: &Path, dot_git: &Path) -> bool {
    let named = fs::read_to_string(own.join("gitdir")).unwrap_or_default();
    let names_tree = resolve(Path::new(named.trim_end())).is_ok_and(|named| named.path == dot_git);
    own.parent() == Some(&common.join("worktrees"))
        && common.join("HEAD").is_file()
        && !common.starts_with(dot_git.parent().unwrap_or(dot_git))
        && names_tree
}
