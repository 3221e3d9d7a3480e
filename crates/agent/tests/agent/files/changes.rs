//! Files and directories that are moved, copied and removed.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use nix::{sys::stat::Mode, unistd::mkfifo};
use reqwest::Method;
use serde_json::json;
use tempfile::TempDir;

use super::{Space, json_of, names, refused, route};
use crate::support::needs;

/// A directory on another file system, if there is one.
fn elsewhere(space: &Space) -> Option<TempDir> {
    let other = TempDir::new_in("/dev/shm").ok()?;
    let device = |path: &Path| path.metadata().unwrap().dev();
    (device(other.path()) != device(&space.workspace)).then_some(other)
}

/// A directory with something of each kind in it.
fn fill(directory: &Path) {
    fs::create_dir_all(directory.join("a/b")).unwrap();
    fs::write(directory.join("a/file"), "content").unwrap();
    fs::set_permissions(directory.join("a/file"), Permissions::from_mode(0o751)).unwrap();
    fs::write(directory.join("a/b/large"), vec![7; 3_000_000]).unwrap();
    symlink("file", directory.join("a/link")).unwrap();
    symlink("/nowhere", directory.join("a/b/dangling")).unwrap();
    fs::set_permissions(directory.join("a/b"), Permissions::from_mode(0o555)).unwrap();
}

fn assert_filled(directory: &Path) {
    assert_eq!(names(&directory.join("a")), ["b", "file", "link"]);
    assert_eq!(names(&directory.join("a/b")), ["dangling", "large"]);
    assert_eq!(fs::read(directory.join("a/file")).unwrap(), b"content");
    assert_eq!(fs::read(directory.join("a/b/large")).unwrap(), vec![7; 3_000_000]);
    assert_eq!(fs::read_link(directory.join("a/link")).unwrap(), Path::new("file"));
    assert_eq!(fs::read_link(directory.join("a/b/dangling")).unwrap(), Path::new("/nowhere"));
    let mode = |path: &str| directory.join(path).metadata().unwrap().mode() & 0o777;
    assert_eq!((mode("a/file"), mode("a/b")), (0o751, 0o555));
}

#[tokio::test]
async fn moves_files_and_directories() {
    let space = Space::start();
    fs::write(space.path("file"), "new").unwrap();
    fs::write(space.path("other"), "old").unwrap();
    let moved = json_of(space.agent.act("move", "file", "other").await, 200).await;
    assert_eq!(moved["from"], space.path("file").to_str().unwrap());
    assert_eq!(moved["to"], space.path("other").to_str().unwrap());
    assert_eq!(fs::read(space.path("other")).unwrap(), b"new");
    assert_eq!(space.agent.act("move", "other", "made/for/it").await.status(), 200);
    assert_eq!(
        (space.names(), names(&space.path("made"))),
        (vec!["made".into()], vec!["for".into()])
    );

    fill(&space.path("full"));
    fs::create_dir(space.path("empty")).unwrap();
    fs::write(space.path("file"), "").unwrap();
    refused(space.agent.act("move", "full", "made").await, 409, "not empty").await;
    refused(space.agent.act("move", "full", "file").await, 409, "no directory").await;
    refused(space.agent.act("move", "file", "full").await, 409, "is a directory").await;
    refused(space.agent.act("move", "full", "full/a/inside").await, 400, "is in").await;
    refused(space.agent.act("move", "none", "new/one").await, 404, "No such file").await;
    refused(space.agent.act("move", "file", "").await, 400, "destination").await;
    refused(space.agent.act("move", "file", "made/..").await, 400, "is a directory").await;
    refused(space.agent.act("move", "file", "file/below").await, 409, "Not a directory").await;
    assert_eq!(space.agent.act("move", "full", "empty").await.status(), 200);
    assert_filled(&space.path("empty"));
    assert_eq!(space.names(), ["empty", "file", "made"]);
    let patch = space.agent.request(Method::PATCH, &route("files", "file"));
    let wrong = patch.json(&json!({ "action": "link", "destination": "x" }));
    refused(space.agent.call(wrong).await, 400, "`move` or `copy`").await;
}

#[tokio::test]
async fn moves_across_file_systems() {
    let space = Space::start();
    let other = elsewhere(&space);
    needs(other.is_some(), "another file system than that of /tmp at /dev/shm");
    let Some(other) = other else { return };
    let to = |name: &str| other.path().join(name).to_str().unwrap().to_owned();
    fill(&space.path("full"));
    fs::create_dir_all(other.path().join("empty")).unwrap();
    fs::create_dir_all(other.path().join("used/inside")).unwrap();
    fs::write(other.path().join("file"), "old").unwrap();
    refused(space.agent.act("move", "full", &to("used")).await, 409, "not empty").await;
    refused(space.agent.act("move", "full", &to("file")).await, 409, "no directory").await;
    assert_filled(&space.path("full"));
    assert_eq!(space.agent.act("move", "full", &to("empty")).await.status(), 200);
    assert_filled(&other.path().join("empty"));
    assert_eq!(space.names(), [] as [&str; 0]);
    fs::write(space.path("file"), "new").unwrap();
    symlink("file", space.path("link")).unwrap();
    refused(space.agent.act("move", "file", &to("used")).await, 409, "is a directory").await;
    assert_eq!(space.agent.act("move", "file", &to("file")).await.status(), 200);
    assert_eq!(space.agent.act("move", "link", &to("made/link")).await.status(), 200);
    assert_eq!(fs::read(other.path().join("file")).unwrap(), b"new");
    assert_eq!(fs::read_link(other.path().join("made/link")).unwrap(), Path::new("file"));
    assert_eq!(names(other.path()), ["empty", "file", "made", "used"]);
    assert_eq!(space.names(), [] as [&str; 0]);
}

#[tokio::test]
async fn copies_files_and_directories() {
    let space = Space::start();
    let mut targets = vec![space.workspace.clone()];
    let other = elsewhere(&space);
    targets.extend(other.as_ref().map(|other| other.path().to_owned()));
    fill(&space.path("full"));
    for target in targets {
        let to = |name: &str| target.join(name).to_str().unwrap().to_owned();
        let at = |name: &str| -> PathBuf { target.join(name) };
        assert_eq!(space.agent.act("copy", "full/a/file", &to("made/file")).await.status(), 200);
        assert_eq!(at("made/file").metadata().unwrap().mode() & 0o777, 0o751);
        // What is replaced keeps its mode.
        fs::write(at("old"), "old").unwrap();
        fs::set_permissions(at("old"), Permissions::from_mode(0o600)).unwrap();
        assert_eq!(space.agent.act("copy", "full/a/file", &to("old")).await.status(), 200);
        assert_eq!(fs::read(at("old")).unwrap(), b"content");
        assert_eq!(at("old").metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(space.agent.act("copy", "full/a/link", &to("link")).await.status(), 200);
        assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("file"));
        refused(space.agent.act("copy", "full/a/link", &to("link")).await, 409, "exists").await;

        refused(space.agent.act("copy", "full", &to("copy")).await, 400, "recursive").await;
        assert_eq!(space.agent.copy_all("full", &to("made/copy")).await.status(), 200);
        assert_filled(&at("made/copy"));
        refused(space.agent.copy_all("full", &to("made")).await, 409, "exists").await;
        refused(space.agent.copy_all("full", &to("old")).await, 409, "exists").await;
    }
    assert_filled(&space.path("full"));
    refused(space.agent.copy_all("full", "full/a/inside").await, 400, "is in").await;
    refused(space.agent.copy_all("full", "full/far/inside").await, 400, "is in").await;
    refused(space.agent.copy_all("none", "new/one").await, 404, "No such file").await;
    assert_eq!(space.names(), ["full", "link", "made", "old"]);
    assert_eq!(names(&space.path("full")), ["a"]);
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing() {
    let space = Space::start();
    fill(&space.path("full"));
    mkfifo(&space.path("full/a/fifo"), Mode::S_IRWXU).unwrap();
    refused(space.agent.copy_all("full", "made/copy").await, 400, "full/a/fifo is a FIFO").await;
    refused(space.agent.act("copy", "full/a/fifo", "made/copy").await, 400, "is a FIFO").await;
    assert_eq!(space.names(), ["full"]);
}

#[tokio::test]
async fn removes_whatever_is_no_directory() {
    let space = Space::start();
    fs::write(space.path("file"), "").unwrap();
    fs::create_dir(space.path("directory")).unwrap();
    symlink("directory", space.path("link")).unwrap();
    mkfifo(&space.path("fifo"), Mode::S_IRWXU).unwrap();
    for name in ["file", "link", "fifo"] {
        let removed = json_of(space.agent.delete_file(name).await, 200).await;
        assert_eq!(removed["path"], space.path(name).to_str().unwrap());
        refused(space.agent.delete_file(name).await, 404, "No such file").await;
    }
    refused(space.agent.delete_file("directory").await, 400, "is a directory").await;
    refused(space.agent.delete_file("").await, 400, "is a directory").await;
    assert_eq!(space.names(), ["directory"]);
}
