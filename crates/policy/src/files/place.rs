use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use super::{Access, FileRule, Kind};

/// A place in the file system, for which a rule says what commands may do there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Without symbolic links.
    pub path: PathBuf,
    /// What is there.
    pub kind: Kind,
    /// Whether it is there: if not, commands may not make it.
    pub exists: bool,
    /// What was decided, and why.
    pub rule: FileRule,
}

/// What commands may do anywhere in the file system: each place has the access that the rule for the deepest place above it
/// gives, and what no place is above has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// By their paths, so that each comes behind those above it.
    places: BTreeMap<PathBuf, Place>,
    /// Rules whose path was not there, by it. Of secrets there are very many, and bytes are compared faster than paths.
    absent: BTreeMap<OsString, FileRule>,
}

impl Places {
    /// Of several rules for the same place the narrowest holds.
    pub(super) fn new(places: Vec<Place>, absent: Vec<(PathBuf, FileRule)>) -> Self {
        let mut all = places.into_iter().fold(Self::default(), Self::with);
        for (path, rule) in absent {
            let held = all.absent.entry(path.into()).or_insert_with(|| rule.clone());
            if rule.access < held.access {
                *held = rule;
            }
        }
        all
    }

    /// The same with one more.
    pub(crate) fn with(mut self, place: Place) -> Self {
        let held = self.places.entry(place.path.clone()).or_insert_with(|| place.clone());
        if place.rule.access < held.rule.access {
            *held = place;
        }
        self
    }

    /// Each place, behind those above it.
    pub fn iter(&self) -> impl Iterator<Item = &Place> {
        self.places.values().filter(|place| self.is_needed(place))
    }

    /// The rules whose path was not there, with it.
    pub fn absent(&self) -> impl Iterator<Item = (&Path, &FileRule)> {
        self.absent.iter().map(|(path, rule)| (Path::new(path), rule))
    }

    /// The place that decides what commands may do at a path without symbolic links. None where nothing is there for them.
    #[must_use]
    pub fn deciding(&self, path: &Path) -> Option<&Place> {
        path.ancestors().find_map(|path| self.at(path))
    }

    /// The place that decides for the directory in which `path` is.
    #[must_use]
    pub fn above(&self, path: &Path) -> Option<&Place> {
        self.deciding(path.parent()?)
    }

    /// What commands may do at a path without symbolic links.
    #[must_use]
    pub fn access(&self, path: &Path) -> Access {
        self.deciding(path).map_or(Access::Hide, |place| place.rule.access)
    }

    /// What they may do at a path once something is there: a rule may be waiting for that.
    pub(crate) fn access_when_made(&self, path: &Path) -> Access {
        self.absent.get(path.as_os_str()).map_or_else(|| self.access(path), |rule| rule.access)
    }

    fn at(&self, path: &Path) -> Option<&Place> {
        self.places.get(path).filter(|place| self.is_needed(place))
    }

    /// Returns whether a place has an effect: what commands can't make needs no guard.
    fn is_needed(&self, place: &Place) -> bool {
        let is_writable = |above: &Place| above.rule.access == Access::Write;
        place.exists || self.above(&place.path).is_some_and(is_writable)
    }

    /// The first path at which commands may do more than under `outer`, or may as soon as something is made there.
    #[must_use]
    pub fn wider_than<'a>(&'a self, outer: &'a Self) -> Option<&'a Path> {
        // Between two of these nothing changes.
        let mut own = self.iter().chain(outer.iter()).map(|place| place.path.as_path());
        let wider = own.find(|path| self.access_when_made(path) > outer.access(path));
        let wider_when_made = || {
            let mut absent = self.absent.keys().chain(outer.absent.keys()).map(Path::new);
            absent.find(|path| self.access_when_made(path) > outer.access_when_made(path))
        };
        wider.or_else(wider_when_made)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::files::{IfMissing, Origin};

    fn place((path, access): &(String, Access)) -> Place {
        let rule = FileRule {
            access: *access,
            path: path.parse().unwrap(),
            origin: Origin::Policy,
            if_missing: IfMissing::Fail,
        };
        Place { path: path.into(), kind: Kind::Directory, exists: true, rule }
    }

    fn places(rules: &[(String, Access)]) -> Places {
        Places::new(rules.iter().map(place).collect(), Vec::new())
    }

    fn path() -> impl Strategy<Value = String> {
        prop::collection::vec("[ab]", 0..4).prop_map(|names| format!("/{}", names.join("/")))
    }

    fn rules() -> impl Strategy<Value = Vec<(String, Access)>> {
        let access =
            prop::sample::select(vec![Access::Hide, Access::Private, Access::Read, Access::Write]);
        prop::collection::vec((path(), access), 0..8)
    }

    #[test]
    fn the_deepest_place_decides_and_of_equals_the_narrowest() {
        let rules = [
            ("/", Access::Read),
            ("/work", Access::Write),
            ("/work/.git/hooks", Access::Read),
            ("/work/.env", Access::Write),
            ("/work/.env", Access::Hide),
            ("/work/.env/public", Access::Read),
        ];
        let places = places(&rules.map(|(path, access)| (path.to_owned(), access)));
        for (path, access) in [
            ("/etc/passwd", Access::Read),
            ("/work", Access::Write),
            ("/works", Access::Read),
            ("/work/src/a.rs", Access::Write),
            ("/work/.git/hooks/post-commit", Access::Read),
            ("/work/.git/hooksx", Access::Write),
            ("/work/.env", Access::Hide),
            ("/work/.env/public/x", Access::Read),
        ] {
            assert_eq!(places.access(Path::new(path)), access, "{path}");
        }
        assert_eq!(Places::default().access(Path::new("/")), Access::Hide);
    }

    proptest! {
        /// The definition: of the rules above a path the longest, and of those the narrowest.
        #[test]
        fn decides_as_defined(rules in rules(), path in path()) {
            let above = |rule: &&(String, Access)| Path::new(&path).starts_with(&rule.0);
            let longest = rules.iter().filter(above).map(|rule| Path::new(&rule.0).components().count()).max();
            let narrowest = rules
                .iter()
                .filter(above)
                .filter(|rule| Some(Path::new(&rule.0).components().count()) == longest)
                .map(|rule| rule.1)
                .min();
            prop_assert_eq!(places(&rules).access(Path::new(&path)), narrowest.unwrap_or(Access::Hide));
        }

        /// What commands can't make needs no guard.
        #[test]
        fn a_place_that_is_missing_counts_where_commands_could_make_it(rules in rules(), missing in path()) {
            let guard = Place { exists: false, ..place(&(missing.clone(), Access::Read)) };
            let without = places(&rules);
            let is_named = rules.iter().any(|(path, _)| *path == missing);
            prop_assume!(!is_named);
            let path = Path::new(&missing);
            let above = without.above(path).map(|place| place.rule.access);
            let with = without.clone().with(guard);
            let expected =
                if above == Some(Access::Write) { Access::Read } else { without.access(path) };
            prop_assert_eq!(with.access(path), expected);
            prop_assert_eq!(with.iter().count() > without.iter().count(), above == Some(Access::Write));
        }

        #[test]
        fn the_order_of_rules_does_not_matter(rules in rules(), path in path()) {
            let mut reversed = rules.clone();
            reversed.reverse();
            let path = Path::new(&path);
            prop_assert_eq!(places(&rules).access(path), places(&reversed).access(path));
        }

        /// Wider at some path, or nowhere.
        #[test]
        fn is_wider_where_some_path_is(inner in rules(), outer in rules(), path in path()) {
            let (inner, outer) = (places(&inner), places(&outer));
            if let Some(wider) = inner.wider_than(&outer) {
                prop_assert!(inner.access(wider) > outer.access(wider));
            } else {
                let path = Path::new(&path);
                prop_assert!(inner.access(path) <= outer.access(path));
            }
        }
    }
}
