//! What a call of files is about.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::path::FilePath;
use crate::{Agent, Error, Feature, Result};

/// A file, and whose rights it is touched with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Which file.
    pub path: FilePath,
    /// As the `user` of a create: `user[:group]`. None: the agent's own.
    pub user: Option<String>,
}

impl From<FilePath> for Target {
    fn from(path: FilePath) -> Self {
        Self { path, user: None }
    }
}

impl Target {
    /// Another file, with the rights of the same user.
    pub(super) fn beside(&self, path: FilePath) -> Self {
        Self { path, user: self.user.clone() }
    }

    /// The path for messages.
    pub(super) fn display(&self) -> String {
        self.path.display()
    }

    /// The address of the target below another one, such as `/api/v1/files`, with these parameters of its query.
    pub(super) fn url(&self, below: &str, parameters: &[(&str, &str)]) -> String {
        let mut url = self.path.url(below);
        let user = self.user.as_deref().map(|user| ("user", user));
        let mut separator = "?";
        for (name, value) in parameters.iter().copied().chain(user) {
            url.extend([separator, name, "="]);
            url.extend(utf8_percent_encode(value, NON_ALPHANUMERIC));
            separator = "&";
        }
        url
    }

    /// Says whether the agent has files, and where it is asked for, those of another user.
    pub(super) async fn check(&self, agent: &Agent) -> Result<()> {
        check_files(agent).await?;
        self.check_user(agent).await
    }

    /// Says whether the agent can do with the rights of another user what it is asked to.
    pub(super) async fn check_user(&self, agent: &Agent) -> Result<()> {
        if self.user.is_some() && !agent.offers(Feature::FilesRaw).await? {
            return Err(no_bytes("`options.user`"));
        }
        Ok(())
    }
}

/// Says whether the agent has files.
pub(super) async fn check_files(agent: &Agent) -> Result<()> {
    agent.check_offers(Feature::Files, "`files`").await
}

/// The error of an agent that has no bytes.
pub(super) fn no_bytes(what: &'static str) -> Box<Error> {
    Error::Unsupported { feature: Feature::FilesRaw.name(), what }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_has_the_parameters_and_the_user() {
        let path = FilePath::parse("/a b").unwrap();
        let mut target = Target::from(path);
        assert_eq!(target.url("/f", &[]), "/f/%2Fa%20b");
        assert_eq!(target.url("/f", &[("depth", "2")]), "/f/%2Fa%20b?depth=2");
        target.user = Some("a&b:1".to_owned());
        assert_eq!(target.url("/f", &[]), "/f/%2Fa%20b?user=a%26b%3A1");
        assert_eq!(
            target.url("/f", &[("x", "1"), ("y", "é")]),
            "/f/%2Fa%20b?x=1&y=%C3%A9&user=a%26b%3A1"
        );
    }
}
