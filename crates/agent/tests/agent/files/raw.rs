//! Files' bytes as they are, whole and in part, both ways.

use std::{
    fs::{self, Permissions},
    io::{Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink},
    time::{Duration, UNIX_EPOCH},
};

use reqwest::{Body, Method, RequestBuilder, Response};

use super::{Space, json_of, refused, route};
use crate::support::{message_of, within};

impl Space {
    /// Asks for a file's bytes.
    pub(super) fn raw(&self, path: &str) -> RequestBuilder {
        self.agent
            .request(Method::GET, &route("files", path))
            .header("accept", "application/octet-stream")
    }

    pub(super) fn put(&self, path: &str, query: &str) -> RequestBuilder {
        self.agent.request(Method::PUT, &(route("files", path) + query))
    }

    pub(super) async fn put_bytes(&self, path: &str, body: impl Into<Body>) -> Response {
        self.agent.call(self.put(path, "").body(body)).await
    }
}

fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers().get(name).map(|value| value.to_str().unwrap())
}

/// Bytes of which no two places are alike.
pub(super) fn pattern(length: usize) -> Vec<u8> {
    (0_u64..)
        .flat_map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_le_bytes())
        .take(length)
        .collect()
}

#[tokio::test]
async fn gives_the_bytes_of_a_file_with_what_it_was() {
    let space = Space::start();
    for length in [0, 1, 262_143, 262_144, 262_145, 1_000_000] {
        let bytes = pattern(length);
        fs::write(space.path("file"), &bytes).unwrap();
        let modified = UNIX_EPOCH + Duration::new(1_769_862_896, 789);
        fs::File::open(space.path("file")).unwrap().set_modified(modified).unwrap();
        let response = space.agent.call(space.raw("file")).await;
        assert_eq!(response.status(), 200);
        assert_eq!(header(&response, "content-type"), Some("application/octet-stream"));
        assert_eq!(header(&response, "content-length"), Some(length.to_string().as_str()));
        assert_eq!(header(&response, "accept-ranges"), Some("bytes"));
        assert_eq!(header(&response, "last-modified"), Some("Sat, 31 Jan 2026 12:34:56 GMT"));
        let tag = header(&response, "etag").unwrap().to_owned();
        assert!(tag.starts_with('"') && tag.ends_with('"'));
        assert_eq!(within(response.bytes()).await.unwrap(), bytes);
        let head = space.agent.request(Method::HEAD, &route("files", "file"));
        let head = space.agent.call(head.header("accept", "application/octet-stream")).await;
        assert_eq!(header(&head, "content-length"), Some(length.to_string().as_str()));
        assert_eq!(header(&head, "etag"), Some(tag.as_str()));
    }
    refused(space.agent.call(space.raw("none")).await, 404, "No such file").await;
    refused(space.agent.call(space.raw("")).await, 400, "is a directory").await;
}

#[tokio::test]
async fn gives_a_part_of_the_bytes() {
    let space = Space::start();
    let bytes = pattern(600_000);
    fs::write(space.path("file"), &bytes).unwrap();
    for (range, part, shown) in [
        ("bytes=0-", 0..600_000, "bytes 0-599999/600000"),
        ("bytes=5-5", 5..6, "bytes 5-5/600000"),
        ("bytes=262143-524288", 262_143..524_289, "bytes 262143-524288/600000"),
        ("bytes=-7", 599_993..600_000, "bytes 599993-599999/600000"),
        ("bytes=599999-9999999", 599_999..600_000, "bytes 599999-599999/600000"),
    ] {
        let response = space.agent.call(space.raw("file").header("range", range)).await;
        assert_eq!(response.status(), 206, "{range}");
        assert_eq!(header(&response, "content-range"), Some(shown));
        assert_eq!(within(response.bytes()).await.unwrap(), bytes[part]);
    }
    let behind = space.agent.call(space.raw("file").header("range", "bytes=600000-")).await;
    assert_eq!(header(&behind, "content-range"), Some("bytes */600000"));
    refused(behind, 416, "600000 bytes").await;
    let several = space.agent.call(space.raw("file").header("range", "bytes=0-1,3-4")).await;
    assert_eq!(several.status(), 200);
}

#[tokio::test]
async fn a_part_of_another_state_of_the_file_is_all_of_it() {
    let space = Space::start();
    fs::write(space.path("file"), "old bytes").unwrap();
    let whole = space.agent.call(space.raw("file")).await;
    let tag = header(&whole, "etag").unwrap().to_owned();
    let ask = || space.raw("file").header("range", "bytes=4-").header("if-range", &tag);
    let same = space.agent.call(ask()).await;
    assert_eq!(
        (same.status(), within(same.text()).await.unwrap()),
        (206.try_into().unwrap(), "bytes".into())
    );
    // As many bytes, and the same time.
    let modified = space.path("file").metadata().unwrap().modified().unwrap();
    let file = fs::File::options().write(true).open(space.path("file")).unwrap();
    file.write_all_at(b"new", 0).unwrap();
    file.set_modified(modified).unwrap();
    let other = space.agent.call(ask()).await;
    assert_eq!(
        (other.status(), within(other.text()).await.unwrap()),
        (200.try_into().unwrap(), "new bytes".into())
    );
}

type Change = fn(&mut fs::File);

#[tokio::test]
async fn a_file_that_changes_while_it_is_read_never_comes_to_its_end() {
    let space = Space::start();
    // More than what is on its way.
    let length = 64 << 20;
    let changes: [(&str, Change); 3] = [
        ("overwritten", |file| file.write_all_at(b"x", 0).unwrap()),
        ("longer", |file| {
            file.seek(SeekFrom::End(0)).unwrap();
            file.write_all(b"x").unwrap();
        }),
        ("shorter", |file| file.set_len(1000).unwrap()),
    ];
    for (what, change) in changes {
        fs::File::create(space.path("file")).unwrap().set_len(length).unwrap();
        let mut response = space.agent.call(space.raw("file")).await;
        within(response.chunk()).await.unwrap().unwrap();
        change(&mut fs::File::options().write(true).open(space.path("file")).unwrap());
        let mut read = 0;
        let end = loop {
            match within(response.chunk()).await {
                Ok(Some(chunk)) => read += chunk.len(),
                end => break end,
            }
        };
        assert!(end.is_err() && read < usize::try_from(length).unwrap(), "{what}: {read}");
    }
    // Another one in its place is no change of it.
    fs::write(space.path("file"), pattern(8 << 20)).unwrap();
    let mut response = space.agent.call(space.raw("file")).await;
    let mut bytes = within(response.chunk()).await.unwrap().unwrap().to_vec();
    fs::write(space.path("other"), "other").unwrap();
    fs::hard_link(space.path("file"), space.path("kept")).unwrap();
    fs::remove_file(space.path("kept")).unwrap();
    while let Ok(Some(chunk)) = within(response.chunk()).await {
        bytes.extend(chunk);
    }
    // Its time of change is another after all: a link to it was made.
    assert!(bytes.len() < 8 << 20);
}

#[tokio::test]
async fn what_is_like_a_file_and_has_no_size_is_given_to_its_end() {
    let space = Space::start();
    for path in
        ["/proc/self/status", "/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"]
    {
        let Ok(expected) = fs::read(path) else { continue };
        let response = space.agent.call(space.raw(path).header("range", "bytes=1-")).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!((header(&response, "etag"), header(&response, "content-length")), (None, None));
        let bytes = within(response.bytes()).await.unwrap();
        assert_eq!(bytes[..4], expected[..4], "{path}");
    }
}

#[tokio::test]
async fn puts_bytes_in_a_place_whole() {
    let space = Space::start();
    for (length, status) in [(0, 201), (3_000_000, 200), (1, 200)] {
        let bytes = pattern(length);
        let info = json_of(space.put_bytes("made/file", bytes.clone()).await, status).await;
        assert_eq!((&info["size"], &info["type"]), (&length.into(), &"file".into()));
        assert_eq!(fs::read(space.path("made/file")).unwrap(), bytes);
    }
    let with_mode = async |path: &str, mode: &str| {
        space.agent.call(space.put(path, &format!("?mode={mode}")).body("x")).await
    };
    let mode = |path: &str| space.path(path).metadata().unwrap().mode() & 0o7777;
    assert_eq!(with_mode("script", "0755").await.status(), 201);
    assert_eq!(mode("script"), 0o755);
    fs::set_permissions(space.path("script"), Permissions::from_mode(0o600)).unwrap();
    assert_eq!(space.put_bytes("script", "y").await.status(), 200);
    assert_eq!(mode("script"), 0o600);
    assert_eq!(with_mode("script", "444").await.status(), 200);
    assert_eq!(mode("script"), 0o444);
    for wrong in ["", "8", "0x1", "77777", "-1", "+644"] {
        refused(with_mode("script", wrong).await, 400, "octal").await;
    }
    symlink("script", space.path("link")).unwrap();
    fs::set_permissions(space.path("script"), Permissions::from_mode(0o644)).unwrap();
    assert_eq!(space.put_bytes("link", "through").await.status(), 200);
    assert_eq!(fs::read(space.path("script")).unwrap(), b"through");
    assert_eq!(space.names(), ["link", "made", "script"]);
}

#[tokio::test]
async fn only_a_new_one_is_put_where_that_is_asked_for() {
    let space = Space::start();
    let only_new = |path: &str| space.put(path, "").header("if-none-match", "*").body("new");
    assert_eq!(space.agent.call(only_new("file")).await.status(), 201);
    fs::write(space.path("file"), "old").unwrap();
    refused(space.agent.call(only_new("file")).await, 412, "there already").await;
    symlink("nowhere", space.path("link")).unwrap();
    refused(space.agent.call(only_new("link")).await, 412, "there already").await;
    refused(
        space.agent.call(space.put("x", "").header("if-none-match", "\"a\"").body("")).await,
        400,
        "*",
    )
    .await;
    assert_eq!(fs::read(space.path("file")).unwrap(), b"old");
    // Of many at once it is one.
    let all = (0..16).map(|_| space.agent.call(only_new("once")));
    let statuses: Vec<_> = futures_util::future::join_all(all)
        .await
        .iter()
        .map(|response| response.status().as_u16())
        .collect();
    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [201, 412].contains(status)), "{statuses:?}");
    assert_eq!(space.names(), ["file", "link", "once"]);
}

#[tokio::test]
async fn appends_in_the_order_of_requests() {
    let space = Space::start();
    let append = |body: Vec<u8>| space.agent.call(space.put("made/log", "?append=true").body(body));
    assert_eq!(append(b"first\n".into()).await.status(), 201);
    let info = json_of(append(b"second\n".into()).await, 200).await;
    assert_eq!(info["size"], 13);
    let all = (0..20_u8).map(|number| append(vec![b'a' + number; 100_000]));
    for response in futures_util::future::join_all(all).await {
        assert_eq!(response.status(), 200);
    }
    let log = fs::read(space.path("made/log")).unwrap();
    let rest = log.strip_prefix(b"first\nsecond\n").unwrap();
    assert_eq!(rest.len(), 2_000_000);
    // Whole, each of them.
    for block in rest.chunks(100_000) {
        assert!(block.iter().all(|byte| *byte == block[0]));
    }
    refused(space.agent.call(space.put("", "?append=true").body("x")).await, 400, "is a directory")
        .await;
    refused(
        space.agent.call(space.put("/dev/null", "?append=true").body("x")).await,
        400,
        "is a device",
    )
    .await;
}

#[tokio::test]
async fn without_the_feature_there_is_the_base_alone() {
    let space = Space::start_with(&["--without", "files-raw"]);
    fs::write(space.path("file"), "text").unwrap();
    let response = space.agent.call(space.raw("file")).await;
    assert_eq!(json_of(response, 200).await["content"], "text");
    refused(space.put_bytes("file", "x").await, 405, "PUT").await;
    let tree = space.agent.request(Method::GET, &route("trees", ""));
    assert_eq!(space.agent.call(tree).await.status(), 404);
    let none = Space::start_with(&["--without", "files"]);
    let response = none.agent.read_file("file").await;
    assert_eq!(response.status(), 404);
    assert!(message_of(response).await.contains("nothing at"));
}
