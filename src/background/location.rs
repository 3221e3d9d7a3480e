//! Where the processes of a client have their directories.

use uuid::Uuid;
use wasm_bindgen::JsValue;

use super::process::Process;
use super::script::{Script, sh};
use crate::arguments::{Fields, shell_text, string};
use sandpipe_client::error::{Error, Result};
use sandpipe_client::shell::quote::quote_path;

/// `{baseDir}/{workspace}` on the target.
#[derive(Clone, Debug)]
pub(super) struct Location {
    base_dir: Option<String>,
    workspace: String,
}

/// The longest path that Linux takes (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;
/// The longest name of a file (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

impl Location {
    #[cfg(test)]
    pub(super) fn at(base_dir: &str) -> Self {
        Self { base_dir: Some(base_dir.to_owned()), workspace: "w".to_owned() }
    }

    pub(super) fn read(options: &JsValue) -> Result<Self> {
        let fields = Fields::of_optional(options, "options")?;
        fields.only(&["baseDir", "workspace"])?;
        Ok(Self {
            base_dir: fields.optional("baseDir", path)?,
            workspace: fields
                .optional("workspace", |value, name| plain_name(string(value, name)?, name))?
                .unwrap_or_else(|| "default".to_owned()),
        })
    }

    /// A script that knows where the processes are.
    pub(super) fn script(&self) -> Script {
        const DEFAULT: &str = r#""${TMPDIR:-/tmp}/sandpipe-$(id -u)""#;
        let base = self.base_dir.as_deref().map_or_else(
            || DEFAULT.to_owned(),
            // A link is seen for what it is only without a slash behind it.
            |base| quote_path(trim_slashes(base)),
        );
        Script::new().word("base", &base).text("workspace", &self.workspace).part(sh!("base"))
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

/// A path on the target.
pub(super) fn path(value: &JsValue, name: &str) -> Result<String> {
    let path = shell_text(value, name)?;
    if path.is_empty() || path.len() > LONGEST_PATH {
        return Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: format!("a path of 1 to {LONGEST_PATH} bytes"),
            actual: format!("one of {} bytes", path.len()),
        }
        .into());
    }
    Ok(path)
}

/// The name of a directory, which can't lead out of the one that it is in.
fn plain_name(text: String, name: &str) -> Result<String> {
    if is_plain_name(&text) {
        return Ok(text);
    }
    Err(Error::InvalidArgument {
        name: name.to_owned(),
        expected: format!(
            "a name of letters, digits, `.`, `_` and `-`, up to {LONGEST_NAME}, that begins with a \
             letter or digit"
        ),
        actual: format!("the string {:?}", text.chars().take(60).collect::<String>()),
    }
    .into())
}

fn is_plain_name(text: &str) -> bool {
    text.len() <= LONGEST_NAME
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// The id of a background process: the name of its directory.
#[derive(Clone, Debug)]
pub(super) struct ProcessId(String);

impl ProcessId {
    pub(super) fn read(value: &JsValue) -> Result<Self> {
        plain_name(string(value, "id")?, "id").map(Self)
    }

    /// A new one. Should it exist already, its directory can't be made: nothing is overwritten.
    pub(super) fn random() -> Self {
        const LENGTH: usize = 12;
        let mut id = Uuid::new_v4().simple().to_string();
        id.truncate(LENGTH);
        Self(id)
    }

    /// The id of a process that the target has told of.
    pub(super) fn of(process: &Process) -> Self {
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
        for name in ["a", "0-a_b.c", "x..", &"x".repeat(LONGEST_NAME)] {
            assert!(is_plain_name(name), "{name}");
        }
        let long = "x".repeat(LONGEST_NAME + 1);
        for name in ["", ".", "..", "../x", "a/b", "-a", ".a", "a b", "é", "a\n", "a\0", &long] {
            assert!(!is_plain_name(name), "{name:?}");
        }
    }

    #[test]
    fn slashes_at_the_end_are_left_out() {
        assert_eq!(["/a//", "/", "//", "~/", "a"].map(trim_slashes), ["/a", "/", "/", "~", "a"]);
    }
}
