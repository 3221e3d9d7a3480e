//! Files, over HTTP: real files, and the process in the box that opens them.

mod attacks;
mod changes;
mod directories;
mod names;
mod raw;
mod reading;
pub(crate) mod trees;
mod uploads;
mod users;
mod walls;
mod whole;
mod worker;
mod writing;

use std::path::{Path, PathBuf};

use reqwest::{Body, Method, RequestBuilder, Response};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Agent, children_of, message_of, within};

/// A path as a client writes it into a request's.
pub(super) fn encoded(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt;

    let bytes = path.as_os_str().as_bytes().iter();
    bytes.fold(String::new(), |text, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            text + &char::from(*byte).to_string()
        }
        byte => text + &format!("%{byte:02X}"),
    })
}

/// An agent with a workspace.
pub(crate) struct Space {
    pub(crate) agent: Agent,
    pub(crate) workspace: PathBuf,
    _directory: TempDir,
}

impl Space {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    pub(crate) fn start_with(args: &[&str]) -> Self {
        let directory = TempDir::new().unwrap();
        let workspace = directory.path().canonicalize().unwrap();
        let agent = Agent::with(|command| {
            command.arg("--workspace").arg(&workspace).args(args);
        });
        Self { agent, workspace, _directory: directory }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.workspace.join(path)
    }

    /// The names in the workspace, also those of temporary files.
    pub(super) fn names(&self) -> Vec<String> {
        names(&self.workspace)
    }
}

/// The names in a directory, in order.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = directory.read_dir().unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// What kind of path it is about.
pub(crate) fn route(kind: &str, path: impl AsRef<Path>) -> String {
    format!("/api/v1/{kind}/{}", encoded(path.as_ref()))
}

impl Agent {
    pub(super) async fn call(&self, request: RequestBuilder) -> Response {
        within(request.send()).await.unwrap()
    }

    /// What is known of a file.
    pub(super) async fn stat(&self, path: impl AsRef<Path>) -> Response {
        self.call(self.request(Method::GET, &route("file_stat", path))).await
    }

    pub(super) async fn stat_json(&self, path: impl AsRef<Path>) -> Value {
        json_of(self.stat(path).await, 200).await
    }

    pub(super) async fn read_file(&self, path: impl AsRef<Path>) -> Response {
        self.call(self.request(Method::GET, &route("files", path))).await
    }

    pub(super) async fn post_file(
        &self,
        path: impl AsRef<Path>,
        body: impl Into<Body>,
    ) -> Response {
        self.call(self.request(Method::POST, &route("files", path)).body(body)).await
    }

    pub(super) async fn delete_file(&self, path: impl AsRef<Path>) -> Response {
        self.call(self.request(Method::DELETE, &route("files", path))).await
    }

    /// Moves or copies something.
    pub(super) async fn act(&self, action: &str, from: impl AsRef<Path>, to: &str) -> Response {
        let body = json!({ "action": action, "destination": to });
        self.call(self.request(Method::PATCH, &route("files", from)).json(&body)).await
    }

    pub(super) async fn copy_all(&self, from: impl AsRef<Path>, to: &str) -> Response {
        let body = json!({ "action": "copy", "destination": to, "recursive": true });
        self.call(self.request(Method::PATCH, &route("files", from)).json(&body)).await
    }

    pub(super) async fn list_files(&self, path: impl AsRef<Path>, query: &str) -> Response {
        self.call(self.request(Method::GET, &(route("directories", path) + query))).await
    }

    pub(super) async fn make_directory(&self, path: impl AsRef<Path>) -> Response {
        self.call(self.request(Method::POST, &route("directories", path))).await
    }

    pub(super) async fn remove_directory(&self, path: impl AsRef<Path>, query: &str) -> Response {
        self.call(self.request(Method::DELETE, &(route("directories", path) + query))).await
    }

    /// The processes that open files for clients.
    pub(super) fn worker_pids(&self) -> Vec<u32> {
        let mut below = children_of(self.pid());
        let mut workers = Vec::new();
        while let Some(pid) = below.pop() {
            below.extend(children_of(pid));
            let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            if name == "sandpipe-worker\n" {
                workers.push(pid);
            }
        }
        workers
    }
}

/// An answer's body.
pub(super) async fn json_of(response: Response, status: u16) -> Value {
    let (actual, text) = (response.status(), within(response.text()).await.unwrap());
    assert_eq!(actual, status, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// Asserts that an answer is an error of that status, whose message has those words.
pub(super) async fn refused(response: Response, status: u16, words: &str) {
    let actual = response.status();
    let message = message_of(response).await;
    assert_eq!(actual, status, "{message}");
    assert!(message.contains(words), "{message:?} has no {words:?}");
}
