//! Where the processes of a client have their directories.

use super::BackgroundProcess;
use super::script::{Script, sh};
use crate::shell::quote::{quote_path, shell_quote};
use crate::{Error, Nonce, Result};

/// `{baseDir}/{namespace}` on the target.
#[derive(Clone, Debug, Default)]
pub struct Location {
    /// A directory that [`path`] has checked. Default: one of the user's own.
    pub base_dir: Option<String>,
    /// A name that [`plain_name`] has checked. Default: the agent's own, `default` without an agent.
    pub namespace: Option<String>,
}

/// The longest path that Linux takes (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;
/// The longest name of a file (`NAME_MAX`).
const MAX_NAME_BYTES: usize = 255;

impl Location {
    #[cfg(test)]
    pub(super) fn at(base_dir: &str) -> Self {
        Self { base_dir: Some(base_dir.to_owned()), namespace: Some("w".to_owned()) }
    }

    /// A script that knows where the processes are.
    pub(super) fn script(&self) -> Script {
        const DEFAULT: &str = r#""${TMPDIR:-/tmp}/sandpipe-$(id -u)""#;
        // An agent sets the variable for its commands.
        const OF_AGENT: &str = r#""${SANDPIPE_NAMESPACE:-default}""#;
        let base = self.base_dir.as_deref().map_or_else(
            || DEFAULT.to_owned(),
            // A link is seen for what it is only without a slash behind it.
            |base| quote_path(trim_slashes(base)),
        );
        let namespace = self.namespace.as_deref().map_or_else(|| OF_AGENT.to_owned(), shell_quote);
        Script::new().word("base", &base).word("namespace", &namespace).part(sh!("base"))
    }

    /// A script that knows which process it is about, and how to look at it.
    pub(super) fn script_of(&self, id: &ProcessId) -> Script {
        self.script().text("id", id.as_str()).part(sh!("look")).part(sh!("process"))
    }
}

fn trim_slashes(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        trimmed => trimmed,
    }
}

/// A path on the target. `name` is that of the argument.
///
/// # Errors
/// It is none.
pub fn path(path: String, name: &str) -> Result<String> {
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: format!("a path of 1 to {MAX_PATH_BYTES} bytes"),
            actual: format!("one of {} bytes", path.len()),
        }
        .into());
    }
    Ok(path)
}

/// The name of a directory, which can't lead out of the one that it is in. `name` is that of the argument.
///
/// # Errors
/// It is none.
pub fn plain_name(text: String, name: &str) -> Result<String> {
    if is_plain_name(&text) {
        return Ok(text);
    }
    Err(Error::InvalidArgument {
        name: name.to_owned(),
        expected: format!(
            "a name of letters, digits, `.`, `_` and `-`, up to {MAX_NAME_BYTES}, that begins with a \
             letter or digit"
        ),
        actual: format!("the string {:?}", text.chars().take(60).collect::<String>()),
    }
    .into())
}

pub(super) fn is_plain_name(text: &str) -> bool {
    text.len() <= MAX_NAME_BYTES
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// The id of a background process: the name of its directory.
#[derive(Clone)]
pub struct ProcessId(String);

impl ProcessId {
    /// The id that a text is.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(text: String) -> Result<Self> {
        plain_name(text, "id").map(Self)
    }

    /// A new one. Should it exist already, its directory can't be made: nothing is overwritten.
    pub(super) fn of_bytes(random: [u8; 16]) -> Self {
        const LENGTH: usize = 12;
        Self(Nonce::of_bytes(random).as_str().chars().take(LENGTH).collect())
    }

    /// The id of a process that the target has told of.
    pub(super) fn of(process: &BackgroundProcess) -> Self {
        Self(process.id.clone())
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_out_of_no_directory() {
        for name in ["a", "0-a_b.c", "x..", &"x".repeat(MAX_NAME_BYTES)] {
            assert!(is_plain_name(name), "{name}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", ".", "..", "../x", "a/b", "-a", ".a", "a b", "é", "a\n", "a\0", &long] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }

    #[test]
    fn slashes_at_the_end_are_left_out() {
        assert_eq!(["/a//", "/", "//", "~/", "a"].map(trim_slashes), ["/a", "/", "/", "~", "a"]);
    }
}
