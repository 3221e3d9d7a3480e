//! The repository that a workspace lies in, or is a linked working tree of, where a private directory
//! such as `/tmp` hides it: git in the workspace needs it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Origin, Places, at_path::place, git_layout,
    resolve::resolve,
};
use crate::effective::Preset;

/// Has the repository of a workspace be there read-only, with its working tree.
pub(super) fn with_surrounding_repository(
    mut places: Places,
    rules: &[FileRule],
    workspace: &Path,
) -> Result<Places, InvalidPlaces> {
    let is_of_git = |rule: &&FileRule| rule.origin == Origin::Preset(Preset::Git);
    let Some(rule) = rules.iter().find(is_of_git) else {
        return Ok(places);
    };
    for path in directories(workspace) {
        let hides = places.deciding(&path).filter(|place| {
            let rule = &place.rule;
            rule.access == Access::Private && rule.origin == Origin::Preset(Preset::System)
        });
        // A private directory as a whole stays private, also where somebody has made it a repository.
        if hides.is_some_and(|hides| hides.path != path) {
            let text = path.to_string_lossy().parse().unwrap_or_else(|_| rule.path.clone());
            let rule = FileRule { path: text, if_missing: IfMissing::Skip, ..rule.clone() };
            places = places.with(place(rule, path)?);
        }
    }
    Ok(places)
}

/// Lists the working tree around a workspace, and where its repository is besides `.git`.
fn directories(workspace: &Path) -> Vec<PathBuf> {
    let is_repository = |tree: &&Path| {
        let dot_git = tree.join(".git").symlink_metadata();
        dot_git.is_ok_and(|found| found.is_file() || tree.join(".git/HEAD").is_file())
    };
    let Some(tree) = workspace.ancestors().find(is_repository) else {
        return Vec::new();
    };
    let dot_git = tree.join(".git");
    let mut directories = Vec::new();
    if tree != workspace {
        directories.push(tree.to_owned());
    }
    if let [own, common] = git_layout::directories(&dot_git).as_slice()
        && is_linked(own, common, &dot_git)
    {
        directories.push(common.clone());
    }
    directories
}

/// Returns whether a repository itself names a working tree. A command may have written the file
/// `.git` of the tree, which then opens nothing.
fn is_linked(own: &Path, common: &Path, dot_git: &Path) -> bool {
    let named = fs::read_to_string(own.join("gitdir")).unwrap_or_default();
    let names_tree = resolve(Path::new(named.trim_end())).is_ok_and(|named| named.path == dot_git);
    own.parent() == Some(&common.join("worktrees"))
        && common.join("HEAD").is_file()
        && !common.starts_with(dot_git.parent().unwrap_or(dot_git))
        && names_tree
}
