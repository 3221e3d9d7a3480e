//! Trees as tar streams, both ways.

use std::{
    fs::{self, File, Permissions},
    io::Write,
    net::SocketAddr,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, UNIX_EPOCH},
};

use nix::{
    sys::stat::Mode,
    unistd::{geteuid, mkfifo},
};
use reqwest::{Body, Method, Response};
use rustix::fs::{RenameFlags, renameat_with};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpSocket,
    time::sleep,
};

use super::{Space, json_of, names, refused, route};
use crate::support::{ADMIN, within};

impl Space {
    async fn tree(&self, path: &str, query: &str) -> Response {
        self.agent.call(self.agent.request(Method::GET, &(route("trees", path) + query))).await
    }

    async fn put_tree(&self, path: &str, body: impl Into<Body>) -> Response {
        self.agent.call(self.agent.request(Method::PUT, &route("trees", path)).body(body)).await
    }
}

/// What tar(1) says to a stream.
fn tar(args: &[&str], directory: &Path, input: &[u8]) -> Vec<u8> {
    let output = tar_output(args, directory, input);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn tar_output(args: &[&str], directory: &Path, input: &[u8]) -> Output {
    let mut tar = Command::new("tar")
        .args(args)
        .env("LC_ALL", "C")
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = tar.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = tar.wait_with_output().unwrap();
    writing.join().unwrap();
    output
}

/// Part of a name that is too long for an old header.
const NEWLINES: &str = "new\nline";

fn fill(directory: &Path) {
    fs::create_dir_all(directory.join("a/deep/er")).unwrap();
    fs::write(directory.join("a/file"), "content").unwrap();
    fs::write(directory.join("a/deep/empty"), "").unwrap();
    fs::write(directory.join(format!("a/{}", NEWLINES.repeat(20))), "").unwrap();
    fs::write(directory.join("large"), super::raw::pattern(1_500_000)).unwrap();
    let long = "long ".repeat(40);
    fs::create_dir_all(directory.join(&long)).unwrap();
    fs::write(directory.join(&long).join("\u{e4}".repeat(120)), "long").unwrap();
    symlink("file", directory.join("a/link")).unwrap();
    symlink("/nowhere/".repeat(20), directory.join("a/dangling")).unwrap();
    mkfifo(&directory.join("a/fifo"), Mode::S_IRWXU).unwrap();
    fs::set_permissions(directory.join("a/file"), Permissions::from_mode(0o640)).unwrap();
    let modified = UNIX_EPOCH + Duration::new(1_600_000_000, 123_456_789);
    for path in ["a/file", "a/deep"] {
        File::open(directory.join(path)).unwrap().set_modified(modified).unwrap();
    }
    fs::set_permissions(directory.join("a/deep"), Permissions::from_mode(0o555)).unwrap();
}

/// All that is in a directory, in words.
fn described(directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for name in names(directory) {
        let path = directory.join(&name);
        let metadata = path.symlink_metadata().unwrap();
        let kind = metadata.mode();
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        let link = fs::read_link(&path).unwrap_or_default();
        // Of directories that were written into afterwards the time is another.
        let is_compared = ["file", "deep", "old"].contains(&name.as_str());
        let time = is_compared.then(|| (metadata.mtime(), metadata.mtime_nsec()));
        lines.push(format!(
            "{name} {kind:o} {time:?} {} {} {:x?}",
            link.display(),
            content.len(),
            content.get(..8)
        ));
        if metadata.is_dir() {
            let below = described(&path).into_iter();
            lines.extend(below.map(|line| format!("{name}/{line}")));
        }
    }
    lines
}

#[tokio::test]
async fn a_tree_comes_as_tar_understands_it() {
    let space = Space::start();
    fill(&space.path("full"));
    let response = space.tree("full", "").await;
    assert_eq!(response.headers()["content-type"], "application/x-tar");
    let stream = within(response.bytes()).await.unwrap();
    fs::create_dir(space.path("unpacked")).unwrap();
    tar(&["-xp"], &space.path("unpacked"), &stream);
    assert_eq!(described(&space.path("unpacked")), described(&space.path("full")));
    let alone = within(space.tree("full/a/file", "").await.bytes()).await.unwrap();
    assert_eq!(tar(&["-t"], &space.workspace, &alone), b"file\n");
    let some = space
        .tree("full", "?exclude=deep&exclude=%2Flarge&exclude=*%20&exclude=a/li*&exclude=new*")
        .await;
    let some = within(some.bytes()).await.unwrap();
    let listed = String::from_utf8(tar(&["-t"], &space.workspace, &some)).unwrap();
    let mut listed: Vec<_> = listed.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, ["a/", "a/dangling", "a/fifo", "a/file"]);
    refused(space.tree("none", "").await, 404, "No such file").await;
}

#[tokio::test]
async fn a_tree_that_tar_makes_is_unpacked() {
    let space = Space::start();
    fill(&space.path("full"));
    fs::hard_link(space.path("full/a/file"), space.path("full/a/same")).unwrap();
    let old = File::create(space.path("full/a/old")).unwrap();
    old.set_modified(UNIX_EPOCH - Duration::from_secs(1_000_000_000)).unwrap();
    for format in ["gnu", "pax", "ustar"] {
        let source = if format == "ustar" { "full/a" } else { "full" };
        if format == "ustar" {
            for name in ["dangling", "old", &NEWLINES.repeat(20)] {
                fs::remove_file(space.path("full/a").join(name)).unwrap();
            }
        }
        let stream = tar(&["-c", "--format", format, "."], &space.path(source), b"");
        let into = format!("made/{format}");
        let summary = json_of(space.put_tree(&into, stream).await, 200).await;
        assert_eq!(summary["path"], space.path(&into).to_str().unwrap());
        let strip = |lines: Vec<String>| -> Vec<String> {
            // Only pax has fractions of seconds.
            let fraction = |line: String| match format {
                "pax" => line,
                _ => line.replace("123456789", "0"),
            };
            lines.into_iter().map(fraction).collect()
        };
        assert_eq!(
            described(&space.path(&into)),
            strip(described(&space.path(source))),
            "{format}"
        );
        let same = ["a/same", "same"].map(|path| space.path(&into).join(path));
        let same = same.iter().find(|path| path.exists()).unwrap();
        assert_eq!(same.metadata().unwrap().nlink(), 2);
    }
    let summary = json_of(space.put_tree("empty", vec![0; 1024]).await, 200).await;
    assert_eq!((&summary["files"], &summary["bytes"]), (&0.into(), &0.into()));
    assert!(space.path("empty").is_dir());
}

#[tokio::test]
async fn a_tree_is_unpacked_again_over_directories_that_can_only_be_read() {
    let space = Space::start();
    let source = tempfile::tempdir().unwrap();
    let only_read = source.path().join("a/only-read");
    fs::create_dir_all(&only_read).unwrap();
    fs::create_dir(space.path("there")).unwrap();
    for place in [&space.workspace, &space.path("there")] {
        fs::set_permissions(place, Permissions::from_mode(0o777)).unwrap();
    }
    // Root may write everywhere.
    let user = if geteuid().is_root() { "?user=nobody" } else { "" };
    for content in ["first", "second"] {
        fs::set_permissions(&only_read, Permissions::from_mode(0o755)).unwrap();
        fs::write(only_read.join("file"), content).unwrap();
        fs::set_permissions(&only_read, Permissions::from_mode(0o555)).unwrap();
        let stream = tar(&["-cf", "-", "a"], source.path(), &[]);
        let request = space.agent.request(Method::PUT, &(route("trees", "there") + user));
        let response = space.agent.call(request.body(stream)).await;
        assert!(response.status().is_success(), "{}", response.text().await.unwrap());
        let there = space.path("there/a/only-read");
        assert_eq!(fs::read_to_string(there.join("file")).unwrap(), content);
        assert_eq!(there.metadata().unwrap().mode() & 0o777, 0o555);
    }
}

/// Fills a directory so that its last entry, in the order of the system, is what its reader may not read. Returns the reader.
fn fill_with_secret(space: &Space, size: u64) -> (&'static str, PathBuf) {
    let tree = space.path("tree");
    fs::create_dir(&tree).unwrap();
    for place in [&space.workspace, &tree] {
        fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
    }
    for name in ["one", "other"] {
        fs::write(tree.join(name), "").unwrap();
    }
    let paths: Vec<_> = tree.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let [first, secret] = paths.try_into().unwrap();
    // A hole, which takes no room on the disk.
    File::options().write(true).open(first).unwrap().set_len(size).unwrap();
    fs::set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    (if geteuid().is_root() { "?user=nobody" } else { "" }, secret)
}

/// The records that say so, as they are in the stream.
fn denied(secret: &Path) -> [String; 2] {
    let message = format!(" SANDPIPE.failure.message={}: Permission denied\n", secret.display());
    [" SANDPIPE.failure.status=403\n".into(), message]
}

#[tokio::test]
async fn a_tree_of_which_not_all_can_be_read_says_which_and_is_whole_to_nobody() {
    let space = Space::start();
    let (user, secret) = fill_with_secret(&space, 1000);
    let response = space.tree("tree", user).await;
    assert_eq!(response.status(), 200);
    let stream = within(response.bytes()).await.unwrap();
    let text = String::from_utf8_lossy(&stream);
    for record in denied(&secret) {
        assert!(text.contains(&record), "{text}");
    }
    let alone = format!("tree/{}", secret.file_name().unwrap().display());
    let alone = within(space.tree(&alone, user).await.bytes()).await.unwrap();
    let text = String::from_utf8_lossy(&alone);
    for record in denied(&secret) {
        assert!(text.contains(&record), "{text}");
    }
    let there = space.path("there");
    let private = Permissions::from_mode(0o700);
    fs::create_dir(&there).unwrap();
    fs::set_permissions(&there, private).unwrap();
    let unpacked = tar_output(&["-xf", "-"], &there, &stream);
    let complaint = String::from_utf8_lossy(&unpacked.stderr);
    assert!(!unpacked.status.success() && complaint.contains("Unexpected EOF"), "{complaint}");
    let [packed, unpacked] = [&space.path("tree"), &there].map(|path| path.metadata().unwrap());
    assert_eq!(
        (unpacked.mode(), unpacked.mtime(), unpacked.mtime_nsec()),
        (packed.mode(), packed.mtime(), packed.mtime_nsec())
    );
    let refused = space.put_tree("again", stream.clone()).await;
    assert_eq!(refused.status(), 400);
    for directory in ["there", "again"] {
        assert_eq!(names(&space.path(directory)).len(), 1);
    }
}

/// What is before and behind the first of these bytes.
fn split<'a>(bytes: &'a [u8], at: &[u8]) -> (&'a [u8], &'a [u8]) {
    let place = bytes.windows(at.len()).position(|window| window == at);
    let place = place.unwrap_or_else(|| panic!("cut off: {}", String::from_utf8_lossy(bytes)));
    (&bytes[..place], &bytes[place + at.len()..])
}

/// The content of an answer that comes in chunks (RFC 9112, "Chunked Transfer Coding"). It panics where that is cut off.
fn content(answer: &[u8]) -> Vec<u8> {
    let (_, mut rest) = split(answer, b"\r\n\r\n");
    let mut content = Vec::new();
    loop {
        let (length, after) = split(rest, b"\r\n");
        let length = usize::from_str_radix(str::from_utf8(length).unwrap(), 16).unwrap();
        content.extend_from_slice(&after[..length]);
        if length == 0 {
            return content;
        }
        (_, rest) = split(&after[length..], b"\r\n");
    }
}

#[tokio::test]
async fn a_slow_client_reads_why_a_tree_ends() {
    let space = Space::start();
    // More than the buffers on the way hold.
    let (user, secret) = fill_with_secret(&space, 3_000_000);
    let address: SocketAddr = space.agent.url.trim_start_matches("http://").parse().unwrap();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut client = socket.connect(address).await.unwrap();
    let head = format!(
        "GET {}{user} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {ADMIN}\r\nConnection: close\r\n\r\n",
        route("trees", "tree"),
    );
    client.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while within(client.read_buf(&mut answer)).await.unwrap() > 0 {
        // It is the agent that waits.
        sleep(Duration::from_millis(1)).await;
    }
    let stream = content(&answer);
    let end = String::from_utf8_lossy(&stream[stream.len().saturating_sub(3000)..]);
    for record in denied(&secret) {
        assert!(end.contains(&record), "{end}");
    }
}

#[tokio::test]
async fn an_entry_that_is_exchanged_while_a_tree_is_read_is_not_left_out() {
    let space = Space::start();
    fs::create_dir_all(space.path("full/directory")).unwrap();
    fs::write(space.path("full/file"), "content").unwrap();
    symlink("file", space.path("full/link")).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let exchanging = {
        let (over, directory) = (Arc::clone(&over), File::open(space.path("full")).unwrap());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                for (one, other) in [("file", "link"), ("link", "directory")] {
                    renameat_with(&directory, one, &directory, other, RenameFlags::EXCHANGE)
                        .unwrap();
                }
            }
        })
    };
    for _ in 0..300 {
        let stream = within(space.tree("full", "").await.bytes()).await.unwrap();
        let list = String::from_utf8(tar(&["-t"], &space.path(""), &stream)).unwrap();
        let mut names: Vec<&str> = list.lines().map(|name| name.trim_end_matches('/')).collect();
        names.sort_unstable();
        assert_eq!(names, ["directory", "file", "link"]);
    }
    over.store(true, Ordering::Relaxed);
    exchanging.join().unwrap();
}

#[tokio::test]
async fn what_is_unpacked_comes_back_the_same() {
    let space = Space::start();
    fill(&space.path("full"));
    let stream = within(space.tree("full", "").await.bytes()).await.unwrap();
    let summary = json_of(space.put_tree("copy", stream.clone()).await, 200).await;
    assert_eq!((&summary["files"], &summary["bytes"]), (&8.into(), &1_500_011.into()));
    assert_eq!(described(&space.path("copy")), described(&space.path("full")));
    // Once more over all of it.
    fs::set_permissions(space.path("copy/a/deep"), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(space.put_tree("copy", stream).await.status(), 200);
    assert_eq!(described(&space.path("copy")), described(&space.path("full")));
}

#[tokio::test]
async fn a_tree_that_is_broken_or_cut_leaves_whole_files() {
    let space = Space::start();
    fs::create_dir(space.path("full")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(space.path("full").join(name), vec![b'x'; 100_000]).unwrap();
    }
    let stream = tar(&["-c", "a", "b", "c"], &space.path("full"), b"");
    for (cut, expected) in
        [(0, 0), (500, 0), (50_000, 0), (150_000, 1), (201_300, 1), (250_000, 2), (302_592, 3)]
    {
        let into = format!("cut-{cut}");
        refused(space.put_tree(&into, stream[..cut].to_vec()).await, 400, "cut off").await;
        let left = names(&space.path(&into));
        assert_eq!(left, ["a", "b", "c"][..left.len()]);
        assert_eq!(left.len(), expected, "{cut}");
        for name in left {
            assert_eq!(fs::read(space.path(&into).join(name)).unwrap().len(), 100_000);
        }
    }
    let mut broken = stream.clone();
    broken[101_000] ^= 1;
    refused(space.put_tree("broken", broken).await, 400, "checksum").await;
    refused(space.put_tree("text", "this is no tar stream. ".repeat(100)).await, 400, "broken")
        .await;
    // A file where a directory is to be, and the other way about.
    fs::create_dir_all(space.path("taken/a/inside")).unwrap();
    refused(space.put_tree("taken", stream.clone()).await, 409, "is a directory").await;
    fs::write(space.path("file"), "").unwrap();
    refused(space.put_tree("file", stream).await, 409, "is a file").await;
}

/// A stream of entries with these names, kinds, links and contents.
pub(crate) fn stream(entries: &[(&str, tar::EntryType, &str, &str)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, link, content) in entries {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        header.set_device_major(1).unwrap();
        header.set_device_minor(3).unwrap();
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

#[tokio::test]
async fn nothing_gets_out_of_the_directory_whatever_names_and_links_say() {
    use tar::EntryType::{Directory, Link, Regular, Symlink};

    let space = Space::start();
    fs::write(space.path("secret"), "secret").unwrap();
    fs::create_dir(space.path("outside")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    for (number, entries) in [
        &[("../evil", Regular, "", "x")][..],
        &[("a/../../evil", Regular, "", "x")],
        &[("up", Symlink, "..", ""), ("up/evil", Regular, "", "x")],
        &[("up", Symlink, "../outside", ""), ("up/a/b/evil", Regular, "", "x")],
        &[("up", Symlink, "../outside", ""), ("up/evil", Directory, "", "")],
        &[("up", Symlink, elsewhere.path().to_str().unwrap(), ""), ("up/evil", Regular, "", "x")],
        &[("a", Symlink, "b", ""), ("b", Symlink, "..", ""), ("a/evil", Regular, "", "x")],
        &[("hard", Link, "../secret", "")],
        &[("up", Symlink, "..", ""), ("hard", Link, "up/secret", "")],
    ]
    .into_iter()
    .enumerate()
    {
        let into = format!("into-{number}");
        refused(space.put_tree(&into, stream(entries)).await, 400, "leads out").await;
        assert_eq!(names(&space.path("outside")), [] as [&str; 0], "{number}");
        assert!(!space.path("evil").exists() && names(elsewhere.path()).is_empty(), "{number}");
    }
    assert_eq!(space.path("secret").metadata().unwrap().nlink(), 1);
    // A link is replaced, and not written through.
    let through = [("link", Symlink, "../secret", ""), ("link", Regular, "", "new")];
    assert_eq!(space.put_tree("through", stream(&through)).await.status(), 200);
    assert_eq!(fs::read(space.path("secret")).unwrap(), b"secret");
    assert_eq!(fs::read(space.path("through/link")).unwrap(), b"new");
    // A slash at the beginning means nothing, and a link within is followed.
    let inside = [
        ("/etc/evil", Regular, "", "x"),
        ("in", Symlink, "etc", ""),
        ("in/good", Regular, "", "y"),
    ];
    assert_eq!(space.put_tree("inside", stream(&inside)).await.status(), 200);
    assert_eq!(names(&space.path("inside/etc")), ["evil", "good"]);
    assert!(!Path::new("/etc/evil").exists());
}
