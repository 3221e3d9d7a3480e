//! Names that are not UTF-8, and paths that try to get elsewhere.

use std::{ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use super::{Space, json_of};

#[tokio::test]
async fn names_that_are_not_utf_8_are_given_raw_and_taken_so() {
    let space = Space::start();
    let name = OsStr::from_bytes(b"\xFF \xE4/below \x01");
    let path = space.workspace.join(name);
    assert_eq!(space.agent.post_file(&path, "content").await.status(), 201);
    assert_eq!(fs::read(&path).unwrap(), b"content");
    let list = json_of(space.agent.list_files("", "?depth=2").await, 200).await;
    let info = &list["files"][1];
    assert_eq!(info["name"], "below \u{1}");
    let shown = space.workspace.to_str().unwrap();
    assert_eq!(info["path"], format!("{shown}/\u{FFFD} \u{FFFD}/below \u{1}"));
    assert_eq!(info["raw"], format!("{shown}/%FF%20%E4/below%20%01"));
    // It is taken as it was given.
    let raw = info["raw"].as_str().unwrap();
    let path = format!("/api/v1/files/{raw}");
    let read = space.agent.call(space.agent.request(reqwest::Method::GET, &path)).await;
    assert_eq!(json_of(read, 200).await["content"], "content");
    assert_eq!(space.agent.act("move", &space.workspace.join(name), "plain").await.status(), 200);
    let info = space.agent.stat_json(Path::new("plain")).await;
    assert_eq!(info.get("raw"), None);
}
