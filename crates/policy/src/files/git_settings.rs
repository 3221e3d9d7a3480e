//! What commands may not write of repositories that they may commit to: what git runs, or takes its
//! settings from, without being asked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Access, FileRule, IfMissing, InvalidPlaces, Kind, Origin, Placeholder, Roots,
    git_layout::{self, COMMONDIR},
    invalid_places::MAX_MATCHES,
    pattern::Start,
    search::Search,
};
use crate::effective::Preset;

/// Number of directories below a place that may be written in which repositories are looked for, and
/// most names in the path of a submodule.
const DEPTH: usize = 3;

const HOOKS: &str = "hooks";
const CONFIG: &str = "config";
const CONFIG_WORKTREE: &str = "config.worktree";

/// Returns whether a rule is for repositories that commands may commit to.
pub(super) fn is_of_commits(rule: &FileRule) -> bool {
    rule.origin == Origin::Preset(Preset::Commits)
}

/// Finds what is to be protected in the workspace, and in other places that the policy itself lets
/// commands write, with the rule for each.
pub(super) fn nested_git_settings(
    rules: &[FileRule],
    roots: &Roots,
) -> Result<Vec<(FileRule, PathBuf)>, InvalidPlaces> {
    let Some(rule) = rules.iter().find(|rule| is_of_commits(rule)) else {
        return Ok(Vec::new());
    };
    let no_home = PathBuf::new();
    let home = roots.homes.first().unwrap_or(&no_home);
    let mut directories = vec![roots.workspace.clone()];
    for rule in rules {
        if rule.origin == Origin::Policy
            && rule.access == Access::Write
            && rule.path.start != (Start::Workspace { above: 0 })
        {
            let (base, rest) = rule.path.base(&roots.workspace, home);
            let mut search = Search::new(rule);
            search.find(base, rest)?;
            directories.extend(search.matches);
        }
    }
    let mut settings = Settings::new(rule);
    for directory in &directories {
        settings.walk(directory, &directories, DEPTH)?;
    }
    Ok(settings.found)
}

/// Finds what is to be protected of the repository in one directory.
pub(super) fn git_settings(
    rule: &FileRule,
    git_dir: &Path,
) -> Result<Vec<(FileRule, PathBuf)>, InvalidPlaces> {
    let mut settings = Settings::new(rule);
    settings.add_repository(git_dir)?;
    Ok(settings.found)
}

struct Settings<'a> {
    rule: &'a FileRule,
    search: Search<'a>,
    found: Vec<(FileRule, PathBuf)>,
    repositories: usize,
}

impl<'a> Settings<'a> {
    fn new(rule: &'a FileRule) -> Self {
        Self { rule, search: Search::new(rule), found: Vec::new(), repositories: 0 }
    }

    fn walk(
        &mut self,
        directory: &Path,
        writable: &[PathBuf],
        depth: usize,
    ) -> Result<(), InvalidPlaces> {
        self.add_working_tree(&directory.join(".git"), writable)?;
        if depth == 0 {
            return Ok(());
        }
        for (name, file_type) in self.search.read(directory)? {
            if file_type.is_dir() && name != ".git" {
                self.walk(&directory.join(name), writable, depth - 1)?;
            }
        }
        Ok(())
    }

    /// Adds a repository by its `.git`, which may be a file that names it.
    fn add_working_tree(
        &mut self,
        dot_git: &Path,
        writable: &[PathBuf],
    ) -> Result<(), InvalidPlaces> {
        let Ok(metadata) = dot_git.symlink_metadata() else {
            return Ok(());
        };
        if metadata.is_dir() {
            return match Placeholder::find(dot_git) {
                None => self.add_repository(dot_git),
                Some(_) => Ok(()),
            };
        }
        if metadata.is_symlink() {
            self.add_existing(dot_git, &[HOOKS, CONFIG, CONFIG_WORKTREE, COMMONDIR]);
            return Ok(());
        }
        self.add(dot_git.to_owned(), IfMissing::Skip);
        let directories = git_layout::directories(dot_git);
        let is_writable = |path: &&PathBuf| writable.iter().any(|place| path.starts_with(place));
        match directories.last().filter(is_writable) {
            Some(directory) => self.add_repository(directory),
            None => Ok(()),
        }
    }

    /// Adds a repository that is not a linked working tree of another, with its working trees and the
    /// repositories of its submodules.
    fn add_repository(&mut self, git_dir: &Path) -> Result<(), InvalidPlaces> {
        self.repositories += 1;
        self.search.check(self.repositories > MAX_MATCHES)?;
        self.add(git_dir.join(HOOKS), IfMissing::Guard(Kind::Directory));
        self.add(git_dir.join(CONFIG), IfMissing::Guard(Kind::File));
        self.add(git_dir.join(CONFIG_WORKTREE), IfMissing::Guard(Kind::File));
        // With that file git does not read whether the repository is bare, and where its tree is. In
        // that of a submodule the tree is where the file `.git` is.
        if git_dir.ends_with(".git") && git_layout::has_tree_elsewhere(git_dir) {
            self.add_existing(git_dir, &[COMMONDIR]);
        } else {
            self.add(git_dir.join(COMMONDIR), IfMissing::Guard(Kind::File));
        }
        for (name, file_type) in self.search.read(&git_dir.join("worktrees"))? {
            if file_type.is_dir() {
                let linked = git_dir.join("worktrees").join(name);
                self.add_existing(&linked, &[COMMONDIR, "gitdir"]);
                self.add(linked.join(CONFIG_WORKTREE), IfMissing::Guard(Kind::File));
            }
        }
        self.add_modules(&git_dir.join("modules"), DEPTH)
    }

    /// Adds the repositories of submodules. The name of one is as a rule its path.
    fn add_modules(&mut self, directory: &Path, depth: usize) -> Result<(), InvalidPlaces> {
        for (name, file_type) in self.search.read(directory)? {
            let module = directory.join(name);
            let has = |name: &&str| module.join(name).symlink_metadata().is_ok();
            if !file_type.is_dir() {
                continue;
            }
            if ["HEAD", CONFIG, HOOKS].iter().any(has) {
                self.add_repository(&module)?;
            } else if depth > 1 {
                self.add_modules(&module, depth - 1)?;
            }
        }
        Ok(())
    }

    fn add_existing(&mut self, directory: &Path, names: &[&str]) {
        for path in names.iter().map(|name| directory.join(name)) {
            if fs::symlink_metadata(&path).is_ok() {
                self.add(path, IfMissing::Skip);
            }
        }
    }

    fn add(&mut self, path: PathBuf, if_missing: IfMissing) {
        self.found.push((self.rule.at(&path, if_missing), path));
    }
}
