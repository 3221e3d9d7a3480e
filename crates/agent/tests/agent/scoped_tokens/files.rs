//! Files with a scoped token: below its directory, and nowhere else.

use std::{
    fs::{self, Permissions},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use reqwest::{Method, Response};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{
    super::{
        files::{Space, names, route, trees::stream},
        support::{message_of, within},
    },
    Scoped,
};

const SECRET: &str = "the secret of the tests";

/// A workspace with a directory, and what is beside it.
fn space() -> Space {
    let space = Space::start();
    fs::create_dir_all(space.path("dir/sub")).unwrap();
    fs::create_dir_all(space.path("dir-evil")).unwrap();
    for (file, text) in [
        ("dir/file", "text"),
        ("dir/sub/file", "below"),
        ("secret", SECRET),
        ("dir-evil/secret", SECRET),
    ] {
        fs::write(space.path(file), text).unwrap();
    }
    space
}

/// Links that lead out of the directory.
fn make_links(space: &Space) {
    symlink("../secret", space.path("dir/link")).unwrap();
    symlink(space.path("secret"), space.path("dir/absolute")).unwrap();
    symlink("..", space.path("dir/up")).unwrap();
    symlink("/", space.path("dir/root")).unwrap();
    symlink("../../secret", space.path("dir/sub/link")).unwrap();
    symlink("/proc/self/cwd", space.path("dir/magic")).unwrap();
}

async fn read(scoped: &Scoped<'_>, path: impl AsRef<Path>) -> Response {
    scoped.get(&route("files", path)).await
}

async fn put(scoped: &Scoped<'_>, path: impl AsRef<Path>, query: &str) -> Response {
    let request = scoped.request(Method::PUT, &(route("files", path) + query));
    within(request.body("new").send()).await.unwrap()
}

async fn act(scoped: &Scoped<'_>, action: &str, from: &str, to: &str) -> u16 {
    let body = json!({ "action": action, "destination": to, "recursive": true });
    scoped.send(Method::PATCH, &route("files", from), body).await.status().as_u16()
}

/// The answer to a request whose path is sent as it is.
async fn send_raw(scoped: &Scoped<'_>, path: &str) -> String {
    let address = scoped.agent.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        scoped.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer)).await.unwrap();
    answer
}

#[tokio::test]
async fn what_is_below_the_directory_is_read_and_nothing_else() {
    let space = space();
    make_links(&space);
    let scoped = space.agent.scoped(json!({ "readFiles": "dir" })).await;
    for (path, text) in [("dir/file", "text"), ("dir/sub/file", "below")] {
        for path in [Path::new(path), &space.path(path)] {
            let answer: Value = read(&scoped, path).await.json().await.unwrap();
            assert_eq!(answer["content"], text);
        }
    }
    let outside = [
        "secret",
        "dir-evil/secret",
        "",
        "/",
        "/etc/passwd",
        "dir/link",
        "dir/absolute",
        "dir/up/secret",
        "dir/root/etc/passwd",
        "dir/sub/link",
        "dir/magic/secret",
        "none",
    ];
    for path in outside {
        for kind in ["files", "directories", "trees"] {
            let response = scoped.get(&route(kind, path)).await;
            let is_link = path.ends_with("link") || path.ends_with("absolute");
            let status = response.status();
            let text = response.text().await.unwrap();
            assert!(!text.contains(SECRET), "{kind} {path}: {text}");
            // A link is an entry of its own in a tree.
            assert!(status == 403 || kind == "trees" && is_link, "{kind} {path}: {status} {text}");
        }
    }
    // What a link leads to is not told, and what is asked for outside is refused whether it is there or not.
    let of_link = |path: &str| route("file_stat", path);
    let link: Value = scoped.get(&of_link("dir/link")).await.json().await.unwrap();
    assert_eq!((&link["type"], &link["size"]), (&json!("symlink"), &json!("../secret".len())));
    let there = scoped.get(&of_link("dir-evil/secret")).await;
    let missing = scoped.get(&of_link("dir-evil/none")).await;
    assert_eq!((there.status().as_u16(), missing.status().as_u16()), (403, 403));
    let told = message_of(there).await.replace("/secret", "/none");
    assert_eq!(told, message_of(missing).await);
    let list = scoped.get(&(route("directories", "dir") + "?depth=5")).await;
    let list = list.text().await.unwrap();
    assert!(
        list.contains("sub/file") && !list.contains(&format!("\"size\":{}", SECRET.len())),
        "{list}"
    );
    let tree = scoped.get(&route("trees", "dir")).await.bytes().await.unwrap();
    let has = |text: &str| tree.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("below") && !has(SECRET));
    // It neither writes nor watches, nor takes another user.
    assert_eq!(put(&scoped, "dir/new", "").await.status(), 403);
    assert_eq!(scoped.status("/api/v1/stream/directories/watcher/dir").await, 403);
    assert_eq!(scoped.status(&(route("files", "dir/file") + "?user=root")).await, 403);
    assert_eq!(names(&space.path("dir")).len(), 7);
}

#[tokio::test]
async fn dots_and_encoded_slashes_lead_nowhere_else() {
    let space = space();
    let scoped = space.agent.scoped(json!({ "readFiles": "dir" })).await;
    let base = space.workspace.to_str().unwrap().trim_start_matches('/');
    for path in [
        "/api/v1/files/dir/../secret",
        "/api/v1/files/dir/%2e%2e/secret",
        "/api/v1/files/dir%2f..%2fsecret",
        "/api/v1/files/dir%2F%2e%2e%2Fsecret",
        "/api/v1/files/dir/sub/../../secret",
        "/api/v1/files/dir/..%2fdir-evil/secret",
        "/api/v1/files/dir-evil/secret",
        "/api/v1/files/./dir/./../secret",
        "/api/v1/files//etc/passwd",
        "/api/v1/files/%2fetc%2fpasswd",
        &format!("/api/v1/files/%2f{base}%2fdir%2f..%2fsecret"),
        &format!("/api/v1/files//{base}/dir/../secret"),
    ] {
        let answer = send_raw(&scoped, path).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{path}: {answer}");
    }
    for path in [
        "/api/v1/files/dir%2ffile",
        "/api/v1/files/./dir//file",
        &format!("/api/v1/files/%2f{base}/dir/file"),
    ] {
        let answer = send_raw(&scoped, path).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
}

#[tokio::test]
async fn what_is_below_the_directory_is_written_and_nothing_else() {
    let space = space();
    make_links(&space);
    let scoped = space.agent.scoped(json!({ "writeFiles": "dir" })).await;
    assert_eq!(put(&scoped, "dir/a/b/new", "").await.status(), 201);
    assert_eq!(put(&scoped, "dir/a/b/new", "?append=true").await.status(), 200);
    assert_eq!(put(&scoped, "dir/a/c", "?upload=one&complete=true").await.status(), 201);
    assert_eq!(fs::read_to_string(space.path("dir/a/b/new")).unwrap(), "newnew");
    for path in [
        "secret",
        "new",
        "dir-evil/new",
        "dir",
        "dir/link",
        "dir/absolute",
        "dir/up/new",
        "dir/up/dir-evil/new",
        "dir/root/tmp/new",
        "dir/sub/link",
        "/tmp/new-of-the-tests",
    ] {
        for query in ["", "?append=true", "?upload=two&complete=true"] {
            let response = put(&scoped, path, query).await;
            assert_eq!(response.status(), 403, "{path}{query}: {}", response.text().await.unwrap());
        }
        let post = scoped.request(Method::POST, &route("files", path)).body("new");
        assert_eq!(within(post.send()).await.unwrap().status(), 403, "{path}");
        let make = scoped.request(Method::POST, &route("directories", format!("{path}/../x")));
        assert_eq!(within(make.send()).await.unwrap().status(), 403, "{path}");
        let tree = stream(&[("new", tar::EntryType::Regular, "", "new")]);
        let request = scoped.request(Method::PUT, &route("trees", path)).body(tree);
        let status = within(request.send()).await.unwrap().status().as_u16();
        assert!(status == 403 || path == "dir" || status == 409, "{path}: {status}");
    }
    // Reading is another scope.
    for kind in ["files", "file_stat", "trees"] {
        assert_eq!(scoped.status(&route(kind, "dir/file")).await, 403, "{kind}");
    }
    for (action, from, to) in [
        ("copy", "dir/file", "dir/copy"),
        ("move", "secret", "dir/secret"),
        ("move", "dir/file", "file"),
        ("move", "dir/file", "dir-evil/file"),
        ("move", "dir/up/secret", "dir/secret"),
        ("move", "dir/file", "dir/up/file"),
        ("move", "dir", "dir/sub/dir"),
        ("move", "dir/sub", "dir/../sub"),
    ] {
        assert_eq!(act(&scoped, action, from, to).await, 403, "{action} {from} {to}");
    }
    assert_eq!(act(&scoped, "move", "dir/file", "dir/sub/moved").await, 200);
    let delete = async |kind: &str, path: &str| {
        scoped.send(Method::DELETE, &route(kind, path), json!({})).await.status().as_u16()
    };
    for path in ["dir", "dir-evil", "", "dir/up/dir-evil", "dir/up"] {
        assert!([400, 403].contains(&delete("directories", path).await), "{path}");
    }
    assert_eq!(delete("files", "dir/up/secret").await, 403);
    assert_eq!(delete("files", "dir/link").await, 200);
    assert_eq!(delete("directories", "dir/sub").await, 200);
    assert_eq!(fs::read_to_string(space.path("secret")).unwrap(), SECRET);
    assert_eq!(names(&space.path("dir-evil")), ["secret"]);
    assert_eq!(space.names(), ["dir", "dir-evil", "secret"]);
    assert!(!Path::new("/tmp/new-of-the-tests").exists());
}

#[tokio::test]
async fn a_copy_reads_below_one_directory_and_writes_below_another() {
    let space = space();
    make_links(&space);
    fs::create_dir(space.path("to")).unwrap();
    let scoped = space.agent.scoped(json!({ "readFiles": "dir", "writeFiles": "to" })).await;
    assert_eq!(act(&scoped, "copy", "dir/file", "to/file").await, 200);
    assert_eq!(act(&scoped, "copy", "dir/sub", "to/all").await, 200);
    assert_eq!(fs::read_to_string(space.path("to/all/file")).unwrap(), "below");
    for (action, from, to) in [
        ("copy", "secret", "to/secret"),
        ("copy", "dir/up/secret", "to/secret"),
        ("copy", "to/file", "to/again"),
        ("copy", "dir/file", "dir/again"),
        ("move", "dir/file", "to/moved"),
    ] {
        assert_eq!(act(&scoped, action, from, to).await, 403, "{action} {from} {to}");
    }
    // A link that was copied leads nowhere either.
    assert_eq!(put(&scoped, "to/all/link", "").await.status(), 403);
    assert_eq!(fs::read_to_string(space.path("secret")).unwrap(), SECRET);
}

#[tokio::test]
async fn links_that_the_token_makes_itself_lead_nowhere() {
    let space = space();
    let scoped = space.agent.scoped(json!({ "readFiles": "dir", "writeFiles": "dir" })).await;
    let links = stream(&[
        ("out", tar::EntryType::Symlink, "../secret", ""),
        ("up", tar::EntryType::Symlink, "..", ""),
    ]);
    let unpack = scoped.request(Method::PUT, &route("trees", "dir")).body(links);
    assert_eq!(within(unpack.send()).await.unwrap().status(), 200);
    for path in ["dir/out", "dir/up/secret"] {
        assert_eq!(read(&scoped, path).await.status(), 403);
        assert_eq!(put(&scoped, path, "").await.status(), 403);
    }
    let through = stream(&[("x", tar::EntryType::Regular, "", "x")]);
    let unpack = scoped.request(Method::PUT, &route("trees", "dir/up")).body(through);
    assert_eq!(within(unpack.send()).await.unwrap().status(), 403);
    assert_eq!(fs::read_to_string(space.path("secret")).unwrap(), SECRET);
}

#[tokio::test]
async fn a_token_makes_neither_devices_nor_files_that_run_as_their_owner() {
    let space = space();
    fs::set_permissions(space.path("dir/file"), Permissions::from_mode(0o4755)).unwrap();
    let scoped = space.agent.scoped(json!({ "readFiles": "dir", "writeFiles": "dir" })).await;
    assert_eq!(act(&scoped, "copy", "dir/file", "dir/copy").await, 200);
    for (path, query) in [
        ("dir/new", "?mode=4755"),
        ("dir/appended", "?mode=6755&append=true"),
        ("dir/uploaded", "?mode=2755&upload=one&complete=true"),
        ("dir/copy", "?mode=4755"),
        // In place of one that has it.
        ("dir/file", ""),
    ] {
        assert!(put(&scoped, path, query).await.status().is_success(), "{path}");
        let mode = fs::metadata(space.path(path)).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o755, "{path}");
    }
    for kind in [tar::EntryType::Char, tar::EntryType::Block] {
        let tree = stream(&[("device", kind, "", "")]);
        let request = scoped.request(Method::PUT, &route("trees", "dir")).body(tree);
        let response = within(request.send()).await.unwrap();
        assert_eq!(response.status(), 400);
        assert!(message_of(response).await.contains("device leads out of the directory"));
        assert!(!space.path("dir/device").exists());
    }
}

#[tokio::test]
async fn a_directory_that_becomes_a_link_leads_nowhere() {
    let space = space();
    let scoped = space.agent.scoped(json!({ "readFiles": "dir", "writeFiles": "dir" })).await;
    fs::rename(space.path("dir"), space.path("moved")).unwrap();
    symlink("dir-evil", space.path("dir")).unwrap();
    for response in [
        read(&scoped, "dir/secret").await,
        put(&scoped, "dir/secret", "").await,
        put(&scoped, "dir/new", "").await,
        scoped.get(&route("directories", "dir")).await,
        scoped.get(&route("trees", "dir")).await,
    ] {
        assert_eq!(response.status(), 403);
    }
    assert_eq!(names(&space.path("dir-evil")), ["secret"]);
    fs::remove_file(space.path("dir")).unwrap();
    fs::rename(space.path("moved"), space.path("dir")).unwrap();
    assert_eq!(read(&scoped, "dir/file").await.status(), 200);
}
