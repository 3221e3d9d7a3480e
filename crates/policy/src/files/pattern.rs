use std::{
    borrow::Cow,
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A path in a policy: `/usr`, `~/.ssh`, `./dist` or `dist` in the workspace, `../shared` beside it; `*` is any part of one name,
/// `**` any number of directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    // Shared: each path that is missing, such as that of a secret, has its rule with it.
    text: Arc<str>,
    pub(super) start: Start,
    pub(super) segments: Arc<[Segment]>,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Root,
    Home,
    /// So many directories above the workspace.
    Workspace {
        above: usize,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Name(String),
    /// A name with `*`.
    Wild(String),
    /// `**`
    AnyDepth,
}

/// Why a text is no path of a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a path of a policy: {reason}")]
pub struct InvalidPath {
    text: String,
    reason: &'static str,
}

impl FromStr for PathPattern {
    type Err = InvalidPath;

    fn from_str(text: &str) -> Result<Self, InvalidPath> {
        let invalid = |reason| Err(InvalidPath { text: text.to_owned(), reason });
        if text.is_empty() {
            return invalid("it is empty (the workspace is \"./\")");
        }
        if text.contains('\0') {
            return invalid("it holds a NUL character");
        }
        let mut names = text.split('/').filter(|name| !name.is_empty() && *name != ".").peekable();
        let start = if text.starts_with('/') {
            Start::Root
        } else if text.starts_with('~') {
            if names.next() != Some("~") {
                return invalid(
                    "\"~\" is the agent's own home, \"~/name\" a path in it; another user's is written in full",
                );
            }
            Start::Home
        } else {
            let mut above = 0;
            while names.next_if_eq(&"..").is_some() {
                above += 1;
            }
            Start::Workspace { above }
        };
        let mut segments = Vec::new();
        for name in names {
            segments.push(match name {
                ".." => {
                    return invalid(
                        "\"..\" stands only at the beginning of a path in the workspace",
                    );
                }
                "**" => Segment::AnyDepth,
                _ if name.contains("**") => {
                    return invalid("\"**\" stands for whole names, between \"/\" and \"/\"");
                }
                _ if name.contains('*') => Segment::Wild(name.to_owned()),
                _ => Segment::Name(name.to_owned()),
            });
        }
        if segments.last() == Some(&Segment::AnyDepth) {
            return invalid(
                "a rule holds for all that is in a place: \"/**\" at its end is left out",
            );
        }
        Ok(Self { text: text.into(), start, segments: segments.into() })
    }
}

impl PathPattern {
    /// `/`
    pub(super) fn root() -> Self {
        Self { text: "/".into(), start: Start::Root, segments: Arc::default() }
    }

    /// Whether `*` or `**` is in it.
    pub(crate) fn has_wildcard(&self) -> bool {
        self.segments.iter().any(|segment| !matches!(segment, Segment::Name(_)))
    }

    /// The path in the workspace, in another place.
    pub(super) fn moved_to(&self, place: &Self) -> Self {
        let text = self.text.trim_start_matches("./");
        Self {
            text: format!("{}/{text}", place.text.trim_end_matches('/')).into(),
            start: place.start,
            segments: [&*place.segments, &self.segments].concat().into(),
        }
    }

    /// Returns whether it has wildcards.
    pub(super) fn is_wild(&self) -> bool {
        !self.segments.iter().all(|segment| matches!(segment, Segment::Name(_)))
    }

    /// The path, up to the first wildcard.
    pub(super) fn base(&self, workspace: &Path, home: &Path) -> (PathBuf, &[Segment]) {
        let mut path = match self.start {
            Start::Root => PathBuf::from("/"),
            Start::Home => home.to_owned(),
            Start::Workspace { above } => {
                workspace.ancestors().nth(above).unwrap_or(Path::new("/")).to_owned()
            }
        };
        let mut rest = &*self.segments;
        while let [Segment::Name(name), behind @ ..] = rest {
            path.push(name);
            rest = behind;
        }
        (path, rest)
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for PathPattern {
    fn schema_name() -> Cow<'static, str> {
        "Path".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A path: `/usr`, `~/.ssh`, or `./dist` in the workspace. `*` is any part of one name, `**` any number of directories.",
            "type": "string",
            "minLength": 1,
            "examples": ["./dist", "~/shared", "**/.env"]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> PathBuf {
        let pattern: PathPattern = text.parse().unwrap();
        pattern.base(Path::new("/work/project"), Path::new("/home/me")).0
    }

    #[test]
    fn a_path_begins_at_the_root_in_the_home_or_in_the_workspace() {
        for (text, path) in [
            ("/", "/"),
            ("/usr//lib/./x/", "/usr/lib/x"),
            ("~", "/home/me"),
            ("~/.ssh", "/home/me/.ssh"),
            ("./", "/work/project"),
            (".", "/work/project"),
            ("./dist", "/work/project/dist"),
            ("dist/a", "/work/project/dist/a"),
            ("../shared", "/work/shared"),
            ("./../../x", "/x"),
            ("../../../../x", "/x"),
            ("**/.env", "/work/project"),
            ("a/*.b/c", "/work/project/a"),
        ] {
            assert_eq!(base(text), Path::new(path), "{text}");
        }
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for wrong in ["", "a\0", "~other/x", "a/../b", "/..", "~/..", "a/**b", "dist/**", "**"] {
            let error = wrong.parse::<PathPattern>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{wrong:?} is not a path of a policy: ")),
                "{error}"
            );
        }
    }
}
