//! Directories: made, listed and removed.

use std::{
    fs,
    os::{
        fd::OwnedFd,
        unix::fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use nix::{
    fcntl::{OFlag, openat},
    sys::stat::{Mode, mkdirat},
};
use serde_json::Value;

use super::{Space, json_of, names, refused};
use crate::support::needs_root;

/// The names that a list has, below its directory.
fn listed(list: &Value) -> Vec<String> {
    let path = list["path"].as_str().unwrap();
    let files = list["files"].as_array().unwrap().iter();
    let below = |file: &Value| {
        let file = Path::new(file["path"].as_str().unwrap());
        file.strip_prefix(path).unwrap().to_str().unwrap().to_owned()
    };
    files.map(below).collect()
}

#[tokio::test]
async fn lists_names_in_the_order_of_their_bytes() {
    let space = Space::start();
    for name in ["b", "a", "\u{e4}", "B", "a.b"] {
        fs::write(space.path(name), name).unwrap();
    }
    fs::create_dir_all(space.path("a-b/x/y")).unwrap();
    symlink("a-b", space.path("link")).unwrap();
    let list = json_of(space.agent.list_files("", "").await, 200).await;
    assert_eq!(list["path"], space.workspace.to_str().unwrap());
    assert_eq!(listed(&list), ["B", "a", "a-b", "a.b", "b", "link", "\u{e4}"]);
    let infos = list["files"].as_array().unwrap();
    let link = &infos[5];
    assert_eq!((&link["type"], &link["isDir"]), (&"symlink".into(), &true.into()));
    assert_eq!((&infos[2]["type"], &infos[2]["isDir"]), (&"directory".into(), &true.into()));
    assert_eq!(infos[6]["size"], 2);
    assert_eq!(infos[6], space.agent.stat_json("\u{e4}").await);

    let deep = json_of(space.agent.list_files("", "?depth=2").await, 200).await;
    assert_eq!(listed(&deep), ["B", "a", "a-b", "a-b/x", "a.b", "b", "link", "\u{e4}"]);
    let deeper = json_of(space.agent.list_files("link", "?depth=64").await, 200).await;
    assert_eq!(listed(&deeper), ["x", "x/y"]);
    let empty = json_of(space.agent.list_files("a-b/x/y", "").await, 200).await;
    assert_eq!(empty["files"], Value::Array([].into()));
    for depth in ["0", "65", "-1", "x", ""] {
        let response = space.agent.list_files("", &format!("?depth={depth}")).await;
        refused(response, 400, "depth").await;
    }
    refused(space.agent.list_files("a", "").await, 400, "no directory").await;
    refused(space.agent.list_files("none", "").await, 404, "No such file").await;
}

#[tokio::test]
async fn a_list_has_an_end() {
    let space = Space::start();
    fs::create_dir(space.path("many")).unwrap();
    let long = "x".repeat(60);
    for number in 0..5_000 {
        fs::write(space.path(&format!("many/{number:05}{long}")), "").unwrap();
    }
    let list = json_of(space.agent.list_files("many", "").await, 200).await;
    assert_eq!(listed(&list), names(&space.path("many")));
    // Each below another is counted for each.
    for copy in 0..20 {
        let directory = space.path(&format!("all/{copy}"));
        fs::create_dir_all(&directory).unwrap();
        let file = space.path(&format!("many/{copy:05}{long}"));
        for number in 0..5_000 {
            fs::hard_link(&file, directory.join(number.to_string())).unwrap();
        }
    }
    refused(space.agent.list_files("all", "?depth=2").await, 413, "100000").await;
    assert_eq!(space.agent.list_files("all", "").await.status(), 200);
}

#[tokio::test]
async fn directories_are_made_where_they_are_missing() {
    let space = Space::start();
    for _ in 0..2 {
        let made = json_of(space.agent.make_directory("a/b/c").await, 201).await;
        assert_eq!(made["path"], space.path("a/b/c").to_str().unwrap());
        assert!(space.path("a/b/c").is_dir());
    }
    symlink("a", space.path("link")).unwrap();
    assert_eq!(space.agent.make_directory("link").await.status(), 201);
    assert_eq!(space.agent.make_directory("").await.status(), 201);
    assert_eq!(space.agent.make_directory("link/d").await.status(), 201);
    assert!(space.path("a/d").is_dir());
    fs::write(space.path("file"), "").unwrap();
    symlink("nowhere", space.path("dangling")).unwrap();
    refused(space.agent.make_directory("file").await, 409, "is a file").await;
    refused(space.agent.make_directory("file/below").await, 409, "Not a directory").await;
    refused(space.agent.make_directory("dangling").await, 409, "exists").await;
}

#[tokio::test]
async fn directories_are_removed_with_all_that_is_in_them() {
    let space = Space::start();
    fs::create_dir_all(space.path("kept/inside")).unwrap();
    fs::write(space.path("kept/inside/file"), "kept").unwrap();
    fs::create_dir_all(space.path("all/a/b/c")).unwrap();
    fs::write(space.path("all/a/b/file"), "").unwrap();
    fs::set_permissions(space.path("all/a/b/file"), PermissionsExt::from_mode(0o0)).unwrap();
    symlink("../../kept", space.path("all/a/link")).unwrap();
    symlink(space.path("kept"), space.path("all/link")).unwrap();
    symlink("kept", space.path("link")).unwrap();
    refused(space.agent.remove_directory("all", "?recursive=false").await, 409, "not empty").await;
    refused(space.agent.remove_directory("all", "?recursive=no").await, 400, "recursive").await;
    refused(space.agent.remove_directory("link", "").await, 400, "is a symbolic link").await;
    refused(space.agent.remove_directory("kept/inside/file", "").await, 400, "is a file").await;
    refused(space.agent.remove_directory("none", "").await, 404, "No such file").await;
    let removed = json_of(space.agent.remove_directory("all", "").await, 200).await;
    assert_eq!(removed["path"], space.path("all").to_str().unwrap());
    assert_eq!(space.names(), ["kept", "link"]);
    assert_eq!(fs::read(space.path("kept/inside/file")).unwrap(), b"kept");
    fs::create_dir(space.path("empty")).unwrap();
    assert_eq!(space.agent.remove_directory("empty", "?recursive=false").await.status(), 200);
}

#[tokio::test]
async fn a_tree_as_deep_as_any_is_removed() {
    let space = Space::start();
    let open = |at: &OwnedFd, name: &str| {
        mkdirat(at, name, Mode::S_IRWXU).unwrap();
        openat(at, name, OFlag::O_DIRECTORY, Mode::empty()).unwrap()
    };
    let mut at = open(&fs::File::open(&space.workspace).unwrap().into(), "deep");
    for _ in 0..3000 {
        at = open(&at, "d");
    }
    assert_eq!(space.agent.remove_directory("deep", "").await.status(), 200);
    assert_eq!(space.names(), [] as [&str; 0]);
}

#[tokio::test]
async fn neither_the_root_nor_the_workspace_is_removed() {
    let space = Space::start();
    fs::write(space.path("file"), "kept").unwrap();
    symlink(&space.workspace, space.path("link")).unwrap();
    let parent = space.workspace.parent().unwrap();
    for path in [Path::new(""), Path::new("."), &space.workspace] {
        refused(space.agent.remove_directory(path, "").await, 400, "not removed").await;
    }
    // Of these nothing would be left where that did not hold.
    for path in [Path::new("/"), parent] {
        let response = space.agent.remove_directory(path, "?recursive=false").await;
        refused(response, 400, "not removed").await;
    }
    // As it is called from elsewhere.
    fs::create_dir(space.path("below")).unwrap();
    refused(space.agent.remove_directory("below/..", "").await, 400, "not removed").await;
    assert_eq!(fs::read(space.path("file")).unwrap(), b"kept");
}

#[tokio::test]
async fn what_the_user_may_not_touch_stays() {
    if !needs_root("run commands as another user") {
        return;
    }
    let space = Space::start_with(&["--default-user", "nobody"]);
    fs::set_permissions(&space.workspace, PermissionsExt::from_mode(0o755)).unwrap();
    fs::create_dir(space.path("closed")).unwrap();
    fs::set_permissions(space.path("closed"), PermissionsExt::from_mode(0o700)).unwrap();
    refused(space.agent.list_files("closed", "").await, 403, "Permission denied").await;
    refused(space.agent.list_files("", "?depth=2").await, 403, "closed").await;
    refused(space.agent.remove_directory("closed", "").await, 403, "Permission denied").await;
    refused(space.agent.make_directory("new").await, 403, "Permission denied").await;
    assert_eq!(
        json_of(space.agent.list_files("", "").await, 200).await["files"][0]["name"],
        "closed"
    );
    assert_eq!(space.names(), ["closed"]);
}
