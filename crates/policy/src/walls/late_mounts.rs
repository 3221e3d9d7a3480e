use std::{collections::HashSet, path::Path};

use crate::{
    effective::Preset,
    files::{Access, Kind, Origin, Place, Places},
};

/// Mounts that can be made once the sandbox has started, before its first command: those that only
/// protect what is there, and cover no other. A workspace may have thousands, one or more for each
/// repository.
pub(super) struct LateMounts<'a> {
    protected: HashSet<&'a Path>,
    /// Places of all other mounts.
    early: Vec<&'a Path>,
}

impl<'a> LateMounts<'a> {
    pub(super) fn new(places: &'a Places) -> Self {
        let (mut protected, mut early) = (HashSet::new(), Vec::new());
        let mut places = places.iter().peekable();
        while let Some(place) = places.next() {
            // What lies in a place comes right behind it.
            let has_inner = places.peek().is_some_and(|next| next.path.starts_with(&place.path));
            if only_protects(place) && !has_inner {
                protected.insert(place.path.as_path());
            } else {
                early.push(place.path.as_path());
            }
        }
        Self { protected, early }
    }

    /// Returns whether a mount at this path is one. A directory above such places is one, too, if
    /// there is nothing else in it.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.protected.contains(path) || !self.early.iter().any(|early| early.starts_with(path))
    }
}

fn only_protects(place: &Place) -> bool {
    let origins = [Preset::Git, Preset::Commits, Preset::ToolSettings];
    let is_there = place.exists || place.kind == Kind::File;
    is_there
        && place.rule.access == Access::Read
        && origins.iter().any(|preset| place.rule.origin == Origin::Preset(*preset))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{FileRule, IfMissing};

    #[test]
    fn only_what_protects_and_covers_nothing_is_late() {
        let place = |path: &str, access, origin| {
            let path_of_rule = path.parse().unwrap();
            let if_missing = IfMissing::Skip;
            let rule = FileRule { access, path: path_of_rule, origin, if_missing };
            Place { path: path.into(), kind: Kind::Directory, exists: true, rule }
        };
        let git = Origin::Preset(Preset::Git);
        let places = [
            place("/", Access::Read, Origin::Policy),
            place("/w", Access::Write, Origin::Policy),
            place("/w/a/b/.git", Access::Read, git),
            place("/w/c/.git", Access::Read, git),
            place("/w/c/.git/own", Access::Write, Origin::Policy),
            place("/w/d/.env", Access::Hide, Origin::Policy),
            place("/w/d/.git", Access::Read, git),
            Place { exists: false, ..place("/w/e/.git", Access::Read, git) },
        ];
        let places = places.into_iter().fold(Places::default(), Places::with);
        let late = LateMounts::new(&places);
        for (path, is_late) in [
            ("/", false),
            ("/w", false),
            ("/w/a", true),
            ("/w/a/b", true),
            ("/w/a/b/.git", true),
            ("/w/c", false),
            ("/w/c/.git", false),
            ("/w/d", false),
            ("/w/d/.env", false),
            ("/w/d/.git", true),
            ("/w/e", false),
            ("/w/e/.git", false),
        ] {
            assert_eq!(late.has(Path::new(path)), is_late, "{path}");
        }
    }
}
