//! Writing files: whole or not at all.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

use nix::unistd::geteuid;
use serde_json::json;

use super::{Space, json_of, refused};
use crate::support::needs_root;

#[tokio::test]
async fn writes_and_repeats_what_was_written() {
    let space = Space::start();
    for (name, bytes, content, encoding) in [
        ("text", "\u{e4} \u{1F600}\n".as_bytes(), "\u{e4} \u{1F600}\n", "utf-8"),
        ("empty", b"", "", "utf-8"),
        ("made/for/it/binary", b"\xFF\x00\x80", "/wCA", "base64"),
    ] {
        let answer = json_of(space.agent.post_file(name, bytes).await, 201).await;
        let path = space.path(name);
        assert_eq!(answer, json!({ "path": path, "content": content, "encoding": encoding }));
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o666 & !umask());
    }
    assert_eq!(space.names(), ["empty", "made", "text"]);
}

/// That of this process, which the agent has too.
fn umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Umask:\t")).unwrap();
    u32::from_str_radix(line, 8).unwrap()
}

#[tokio::test]
async fn what_takes_a_files_place_has_its_mode_and_owner() {
    let space = Space::start();
    let path = space.path("file");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
    if geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(65_534), Some(12)).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o4751)).unwrap();
    }
    let old = path.metadata().unwrap();
    let open = fs::File::open(&path).unwrap();
    assert_eq!(space.agent.post_file("file", "new").await.status(), 201);
    let new = path.metadata().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!((new.mode(), new.uid(), new.gid()), (old.mode(), old.uid(), old.gid()));
    // Who has the old one open still has that.
    assert_ne!(old.ino(), new.ino());
    assert_eq!(std::io::read_to_string(open).unwrap(), "old");
    assert_eq!(space.names(), ["file"]);
}

#[tokio::test]
async fn a_link_is_followed_to_where_it_leads() {
    let space = Space::start();
    fs::create_dir(space.path("there")).unwrap();
    fs::write(space.path("there/file"), "old").unwrap();
    symlink("there/file", space.path("one")).unwrap();
    symlink("../one", space.path("there/two")).unwrap();
    symlink(space.path("there/new"), space.path("dangling")).unwrap();
    symlink("loop", space.path("loop")).unwrap();
    assert_eq!(space.agent.post_file("there/two", "new").await.status(), 201);
    assert_eq!(fs::read(space.path("there/file")).unwrap(), b"new");
    assert_eq!(space.agent.post_file("dangling", "there").await.status(), 201);
    assert_eq!(fs::read(space.path("there/new")).unwrap(), b"there");
    for link in ["one", "there/two", "dangling"] {
        assert!(space.path(link).is_symlink(), "{link}");
    }
    refused(space.agent.post_file("loop", "").await, 400, "symbolic").await;
}

#[tokio::test]
async fn what_can_t_be_written_is_told() {
    let space = Space::start();
    fs::create_dir(space.path("directory")).unwrap();
    fs::write(space.path("file"), "old").unwrap();
    refused(space.agent.post_file("directory", "").await, 400, "is a directory").await;
    refused(space.agent.post_file("", "").await, 400, "is a directory").await;
    refused(space.agent.post_file("/", "").await, 400, "is a directory").await;
    refused(space.agent.post_file("directory/..", "").await, 400, "is a directory").await;
    refused(space.agent.post_file("/dev/null", "").await, 400, "is a device").await;
    refused(space.agent.post_file("file/below", "").await, 409, "Not a directory").await;
    refused(space.agent.post_file("file/far/below", "").await, 409, "Not a directory").await;
    // The kernel lets root alone look further.
    let (status, message) =
        if geteuid().is_root() { (404, "No such file") } else { (403, "Permission denied") };
    refused(space.agent.post_file("/proc/none", "").await, status, message).await;
    refused(space.agent.post_file("a".repeat(300), "").await, 400, "name too long").await;
    refused(space.agent.post_file("file", vec![0; (16 << 20) + 1]).await, 413, "16 MiB").await;
    assert_eq!(fs::read(space.path("file")).unwrap(), b"old");
    assert_eq!(space.names(), ["directory", "file"]);
}

#[tokio::test]
async fn what_the_user_may_not_write_is_left_as_it_is() {
    if !needs_root("run commands as another user") {
        return;
    }
    let space = Space::start_with(&["--default-user", "nobody"]);
    fs::set_permissions(&space.workspace, Permissions::from_mode(0o777)).unwrap();
    // A shell's `>` would not write them, though a new one could take their place.
    for (name, mode) in [("of-root", 0o644), ("own", 0o444)] {
        fs::write(space.path(name), "old").unwrap();
        fs::set_permissions(space.path(name), Permissions::from_mode(mode)).unwrap();
    }
    std::os::unix::fs::chown(space.path("own"), Some(65_534), Some(65_534)).unwrap();
    for name in ["of-root", "own", "/etc/hosts", "/etc/new"] {
        refused(space.agent.post_file(name, "new").await, 403, "Permission denied").await;
    }
    assert_eq!(space.agent.post_file("made/new", "new").await.status(), 201);
    assert_eq!(space.path("made/new").metadata().unwrap().uid(), 65_534);
    // Where something fails, what was made for it is removed.
    fs::create_dir(space.path("closed")).unwrap();
    refused(space.agent.post_file("closed/a/b/c", "new").await, 403, "Permission denied").await;
    assert_eq!(fs::read(space.path("of-root")).unwrap(), b"old");
    assert_eq!(space.names(), ["closed", "made", "of-root", "own"]);
    assert_eq!(super::names(&space.path("closed")), [] as [&str; 0]);
}

#[tokio::test]
async fn a_file_that_others_may_write_keeps_its_group() {
    if !needs_root("run commands as another user") {
        return;
    }
    let space = Space::start_with(&["--default-user", "nobody:12"]);
    fs::set_permissions(&space.workspace, Permissions::from_mode(0o777)).unwrap();
    let path = space.path("shared");
    fs::write(&path, "old").unwrap();
    std::os::unix::fs::chown(&path, Some(1), Some(12)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o4664)).unwrap();
    assert_eq!(space.agent.post_file("shared", "new").await.status(), 201);
    let metadata = path.metadata().unwrap();
    // Nobody may give it to another user, nor keep that one's rights.
    assert_eq!((metadata.uid(), metadata.gid()), (65_534, 12));
    assert_eq!(metadata.mode() & 0o7777, 0o664);
}
