//! `?user=`: another user's rights and ownership.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use nix::unistd::geteuid;

use super::{Space, refused};

#[tokio::test]
async fn another_user_has_its_rights_and_its_files() {
    let space = Space::start();
    if !geteuid().is_root() {
        let response = space.agent.call(space.put("file", "?user=root").body("x")).await;
        return refused(response, 400, "may not").await;
    }
    fs::set_permissions(&space.workspace, Permissions::from_mode(0o777)).unwrap();
    fs::write(space.path("secret"), "secret").unwrap();
    fs::set_permissions(space.path("secret"), Permissions::from_mode(0o600)).unwrap();
    let as_nobody = |path: &str| space.agent.call(space.put(path, "?user=nobody:12").body("x"));
    assert_eq!(as_nobody("made/file").await.status(), 201);
    for path in ["made", "made/file"] {
        let metadata = space.path(path).metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (65_534, 12), "{path}");
    }
    refused(as_nobody("secret").await, 403, "Permission denied").await;
    let read = space.agent.request(reqwest::Method::GET, "/api/v1/files/secret?user=nobody");
    refused(space.agent.call(read).await, 403, "Permission denied").await;
    refused(
        space.agent.call(space.put("x", "?user=no-such-user").body("")).await,
        400,
        "no-such-user",
    )
    .await;
    // Its own is another one still.
    assert_eq!(space.put_bytes("root's", "x").await.status(), 201);
    assert_eq!(space.path("root's").metadata().unwrap().uid(), 0);
    assert_eq!(space.agent.worker_pids().len(), 3);
}
