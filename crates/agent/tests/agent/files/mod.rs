//! Files, over HTTP: real files, and the process in the box that opens them.

mod worker;

use std::path::Path;

use reqwest::{Method, Response};
use serde_json::Value;

use crate::support::{Agent, children_of, within};

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

impl Agent {
    /// What is known of a file.
    pub(super) async fn stat(&self, path: &Path) -> Response {
        let path = format!("/api/v1/file_stat/{}", encoded(path));
        within(self.request(Method::GET, &path).send()).await.unwrap()
    }

    pub(super) async fn stat_json(&self, path: &Path) -> Value {
        let response = self.stat(path).await;
        assert_eq!(
            response.status(),
            200,
            "{}: {}",
            path.display(),
            response.text().await.unwrap()
        );
        within(response.json()).await.unwrap()
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
