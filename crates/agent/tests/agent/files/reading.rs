//! Reading whole files as JSON.

use std::{fs, os::unix::net::UnixListener, path::Path};

use nix::{sys::stat::Mode, unistd::mkfifo};
use serde_json::{Value, json};

use super::{Space, json_of, refused};

#[tokio::test]
async fn reads_text_as_it_is_and_anything_else_in_base64() {
    let space = Space::start();
    for (name, bytes, content, encoding) in [
        ("text", "\u{e4} \u{1F600}\n\0".as_bytes(), "\u{e4} \u{1F600}\n\0", "utf-8"),
        ("empty", b"", "", "utf-8"),
        ("binary", b"\xFF\x00\x80", "/wCA", "base64"),
    ] {
        fs::write(space.path(name), bytes).unwrap();
        let read = json_of(space.agent.read_file(name).await, 200).await;
        let path = space.path(name);
        assert_eq!(read, json!({ "path": path, "content": content, "encoding": encoding }));
    }
}

#[tokio::test]
async fn files_of_the_system_are_read_to_their_end() {
    let space = Space::start();
    // They say that they have no bytes, or a whole page.
    for (path, beginning) in [("/proc/self/status", "Name:"), ("/proc/version", "Linux")] {
        let read: Value = json_of(space.agent.read_file(path).await, 200).await;
        assert!(read["content"].as_str().unwrap().starts_with(beginning));
    }
}

#[tokio::test]
async fn what_is_no_file_is_told_by_what_it_is() {
    let space = Space::start();
    mkfifo(&space.path("fifo"), Mode::S_IRWXU).unwrap();
    let _listener = UnixListener::bind(space.path("socket")).unwrap();
    for (path, what) in [
        ("fifo", "is a FIFO"),
        ("socket", "is a socket"),
        ("/dev/zero", "is a device"),
        ("", "is a directory"),
    ] {
        refused(space.agent.read_file(path).await, 400, what).await;
    }
    refused(space.agent.read_file("none").await, 404, "No such file").await;
    fs::write(space.path("file"), "").unwrap();
    refused(space.agent.read_file("file/below").await, 404, "Not a directory").await;
}

#[tokio::test]
async fn what_is_too_large_for_json_is_told() {
    let space = Space::start();
    let large = fs::File::create(space.path("large")).unwrap();
    large.set_len(16 << 20).unwrap();
    assert_eq!(space.agent.read_file("large").await.status(), 200);
    large.set_len((16 << 20) + 1).unwrap();
    refused(space.agent.read_file("large").await, 413, "application/octet-stream").await;
    // It has no end.
    refused(space.agent.read_file(Path::new("/proc/self/fd/none")).await, 404, "No such").await;
}
