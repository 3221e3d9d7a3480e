use sandpipe_policy::wildcard;
use serde::{Deserialize, Serialize};

/// The patterns of what is left out of a watch or a tree: paths relative to its directory, in which `*` is any part of one name and `**` any number
/// of directories. One without a `/` is for a name at any depth. What is in an ignored directory is ignored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct IgnorePatterns(Vec<Vec<Segment>>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Segment {
    /// A name, with `*`.
    Name(Vec<u8>),
    /// `**`
    AnyDepth,
}

/// What is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} {reason}")]
pub(crate) struct InvalidPattern {
    pattern: String,
    reason: &'static str,
}

impl IgnorePatterns {
    /// # Errors
    /// One of them can't match anything.
    pub(crate) fn new<'a>(
        patterns: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidPattern> {
        patterns.into_iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// Whether a path, relative to the directory, is ignored. For what is in an ignored directory it is not asked.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        self.0.iter().any(|pattern| places(pattern, path).contains(&pattern.len()))
    }

    /// Whether the same is ignored below two directories that are not ignored themselves.
    pub(crate) fn are_alike_below(&self, one: &[u8], other: &[u8]) -> bool {
        self.0.iter().all(|pattern| places(pattern, one) == places(pattern, other))
    }
}

fn parse(pattern: &str) -> Result<Vec<Segment>, InvalidPattern> {
    let invalid = |reason| InvalidPattern { pattern: pattern.to_owned(), reason };
    let names = pattern.trim_end_matches('/');
    let is_anchored = names.contains('/');
    let mut segments = Vec::new();
    if !is_anchored {
        segments.push(Segment::AnyDepth);
    }
    for name in names.split('/').filter(|name| !matches!(*name, "" | ".")) {
        segments.push(match name {
            ".." => {
                return Err(invalid("names what is outside of the directory by \"..\""));
            }
            "**" => Segment::AnyDepth,
            _ => Segment::Name(name.as_bytes().to_vec()),
        });
    }
    match segments.last() {
        // At the end it stands for all that is in a directory, not for the directory.
        Some(Segment::AnyDepth) if names.contains("**") => {
            segments.push(Segment::Name(b"*".to_vec()));
        }
        Some(Segment::Name(_)) => {}
        Some(Segment::AnyDepth) | None => return Err(invalid("names nothing")),
    }
    Ok(segments)
}

/// Goes through a path with all the places of the pattern at which it may be. Returns those at the
/// end of the path.
fn places(pattern: &[Segment], path: &[u8]) -> Vec<usize> {
    let mut places = vec![0];
    skip_depths(pattern, &mut places);
    for name in path.split(|byte| *byte == b'/') {
        let mut next = Vec::with_capacity(places.len() + 1);
        for place in places {
            match pattern.get(place) {
                Some(Segment::AnyDepth) => next.push(place),
                Some(Segment::Name(expected)) if wildcard::matches(expected, name) => {
                    next.push(place + 1);
                }
                Some(Segment::Name(_)) | None => {}
            }
        }
        skip_depths(pattern, &mut next);
        places = next;
    }
    places
}

/// `**` may also be no directory at all.
fn skip_depths(pattern: &[Segment], places: &mut Vec<usize>) {
    let mut at = 0;
    while let Some(place) = places.get(at).copied() {
        if pattern.get(place) == Some(&Segment::AnyDepth) {
            places.push(place + 1);
        }
        at += 1;
    }
    places.sort_unstable();
    places.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_for_names_at_any_depth_or_for_paths_from_the_root() {
        for (pattern, ignored, kept) in [
            (
                "node_modules",
                &["node_modules", "a/b/node_modules"][..],
                &["node_modules2", "a"][..],
            ),
            ("node_modules/", &["node_modules", "a/node_modules"], &["a"]),
            ("*.log", &["x.log", "a/.log"], &["x.log.1", "a/x.logs"]),
            ("/dist", &["dist"], &["a/dist", "dist/x"]),
            ("./dist", &["dist"], &["a/dist"]),
            ("a/*/c", &["a/b/c"], &["a/c", "a/b/b/c", "x/a/b/c"]),
            ("a/**/c", &["a/c", "a/b/c", "a/b/b/c"], &["a", "c", "x/a/c"]),
            ("**/c", &["c", "a/c", "a/b/c"], &["cc", "c/d"]),
            ("a/**", &["a/b", "a/b/c"], &["a", "b/a"]),
            ("**", &["a", "a/b"], &[]),
            ("**/*", &["a", "a/b"], &[]),
        ] {
            let patterns = IgnorePatterns::new([pattern]).unwrap();
            for path in ignored {
                assert!(patterns.matches(path.as_bytes()), "{pattern} {path}");
            }
            for path in kept {
                assert!(!patterns.matches(path.as_bytes()), "{pattern} {path}");
            }
        }
    }

    #[test]
    fn the_same_is_ignored_below_two_directories_unless_a_path_in_a_pattern_leads_through_one() {
        for (pattern, one, other, alike) in [
            ("node_modules", "a", "b/c", true),
            ("*.log", "a", "b/c", true),
            ("src/gen", "a", "b/c", true),
            ("src/gen", "src", "lib", false),
            ("a/*/c", "a", "b", false),
            ("a/*/c", "a/x", "a/y", true),
            ("a/*/c", "a/x", "a/x/y", false),
            ("**/a/b", "a", "x/a", true),
            ("**/a/b", "a", "b", false),
            ("a/**", "x", "b", true),
        ] {
            let patterns = IgnorePatterns::new([pattern]).unwrap();
            let is_alike = patterns.are_alike_below(one.as_bytes(), other.as_bytes());
            assert_eq!(is_alike, alike, "{pattern} {one} {other}");
        }
    }

    #[test]
    fn what_can_match_nothing_is_refused() {
        for (wrong, reason) in [
            ("", "names nothing"),
            ("/", "names nothing"),
            ("./", "names nothing"),
            ("../a", "outside"),
            ("a/..", "outside"),
        ] {
            let error = IgnorePatterns::new([wrong]).unwrap_err().to_string();
            assert!(error.contains(reason) && error.contains(&format!("{wrong:?}")), "{error}");
        }
        assert!(!IgnorePatterns::default().matches(b"a"));
    }
}
