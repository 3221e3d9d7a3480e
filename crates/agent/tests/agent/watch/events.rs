//! What is told of what happens in a directory.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use reqwest::Method;
use sandpipe_protocol::WatcherEventType::{Add, Change, Remove};
use tempfile::TempDir;

use super::watch_path;
use crate::{
    support::{Agent, READONLY, message_of, needs_root, within},
    walls::{Walled, walls},
};

#[tokio::test]
async fn tells_what_is_made_changed_and_removed() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fs::write(root.join("old"), "").unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "").await;
    let mut file = File::create(root.join("a")).unwrap();
    watch.tells(&[(Add, &["a"])]).await;
    file.write_all(b"1").unwrap();
    watch.tells(&[(Change, &["a"])]).await;
    // Each time, also where nothing else has happened between.
    file.write_all(b"2").unwrap();
    watch.tells(&[(Change, &["a"])]).await;
    drop(file);
    watch.tells(&[(Change, &["a"])]).await;
    fs::set_permissions(root.join("old"), fs::Permissions::from_mode(0o600)).unwrap();
    watch.tells(&[(Change, &["old"])]).await;
    fs::remove_file(root.join("a")).unwrap();
    watch.tells(&[(Remove, &["a"])]).await;
    symlink("/", root.join("link")).unwrap();
    watch.tells(&[(Add, &["link"])]).await;
    // Not what is below.
    fs::create_dir(root.join("d")).unwrap();
    fs::write(root.join("d/x"), "").unwrap();
    fs::remove_dir_all(root.join("d")).unwrap();
    watch.tells(&[(Add, &["d"]), (Remove, &["d"])]).await;
}

#[tokio::test]
async fn tells_what_is_below_where_that_is_asked_for() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    fs::create_dir_all(root.join("a/b")).unwrap();
    symlink(root, root.join("a/loop")).unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true").await;
    fs::create_dir(root.join("a/b/c")).unwrap();
    watch.tells(&[(Add, &["a/b/c"])]).await;
    File::create(root.join("a/b/c/x")).unwrap();
    watch.tells(&[(Add, &["a/b/c/x"]), (Change, &["a/b/c/x"])]).await;
    fs::remove_dir_all(root.join("a/b")).unwrap();
    watch.tells(&[(Remove, &["a/b/c/x"]), (Remove, &["a/b/c"]), (Remove, &["a/b"])]).await;
    watch.is_complete().await;
}

#[tokio::test]
async fn a_directory_deeper_than_a_path_can_name_is_watched() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    // Each name is short enough for a command, all of them are longer than PATH_MAX.
    let script = "name=$(printf %0200d 0); for i in $(seq 30); do mkdir $name && cd -P $name || exit 1; done; echo done; read go; touch deepest";
    let agent = Agent::with(|command| _ = command.arg("--workspace").arg(root));
    let exec = agent.sh(script).await;
    agent.stream(&exec.id, "").await.until_output("done").await;
    let mut watch = agent.watch(root, "recursive=true").await;
    agent.write(&exec.id, "\n").await;
    let added = watch.next().await.unwrap();
    assert_eq!(added.kind, Add);
    assert!(added.paths[0].len() > 30 * 200 && added.paths[0].ends_with("/deepest"));
    drop(watch);
    // What removes it goes down step by step.
    agent.run("rm -r 0*").await;
}

#[tokio::test]
async fn names_that_are_no_text_are_told_raw_too() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    let below = root.join(OsStr::from_bytes(b"\xff dir"));
    fs::create_dir(&below).unwrap();
    let agent = Agent::start();
    let mut watch = agent.watch(root, "recursive=true&extended=true").await;
    File::create(below.join(OsStr::from_bytes(b"\xe4"))).unwrap();
    let added = watch.next().await.unwrap();
    let root_text = root.to_str().unwrap();
    assert_eq!(added.paths, [format!("{root_text}/\u{fffd} dir/\u{fffd}")]);
    assert_eq!(added.raw.unwrap(), [format!("{root_text}/%FF%20dir/%E4")]);
    // It can be watched itself, by its bytes.
    let mut inner = agent.try_watch(&below, "").await;
    let connected = within(inner.chunk()).await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&connected).contains("%FF%20dir"), "{connected:?}");
}

#[tokio::test]
async fn what_is_ignored_is_neither_told_nor_watched() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    for path in ["node_modules/a", "src/node_modules", "src/gen/x", "kept"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    let agent = Agent::start();
    let query = "recursive=true&extended=true&ignorePatterns=node_modules&ignorePatterns=src%2Fgen&ignorePatterns=*.log";
    let mut watch = agent.watch(root, query).await;
    for path in ["node_modules/a/x", "src/node_modules/x", "src/gen/x/y", "kept/a.log"] {
        fs::write(root.join(path), "").unwrap();
    }
    assert_eq!(watch.rest().await, []);
    // What is moved there is gone, what is moved out of there is new, with all that is in it.
    fs::rename(root.join("kept"), root.join("src/node_modules/kept")).unwrap();
    watch.tells(&[(Remove, &["kept"])]).await;
    fs::write(root.join("src/node_modules/kept/y"), "").unwrap();
    fs::rename(root.join("src/gen"), root.join("generated")).unwrap();
    watch.tells(&[(Add, &["generated"]), (Add, &["generated/x"]), (Add, &["generated/x/y"])]).await;
    // Below a directory that is moved, other paths are ignored than before.
    fs::create_dir_all(root.join("lib/gen")).unwrap();
    watch.tells(&[(Add, &["lib"]), (Add, &["lib/gen"])]).await;
    fs::remove_dir_all(root.join("src")).unwrap();
    watch.rest().await;
    fs::rename(root.join("lib"), root.join("src")).unwrap();
    watch.rest().await;
    fs::write(root.join("src/gen/z"), "").unwrap();
    assert_eq!(watch.rest().await, []);
}

#[tokio::test]
async fn what_can_not_be_watched_is_told_at_once() {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    let file = root.join("file");
    fs::write(&file, "").unwrap();
    let agent = Agent::start();
    for (path, query, status, message) in [
        (root.join("missing"), "", 404, "No such file"),
        (file.clone(), "", 400, "is a file"),
        (file.join("below"), "", 404, "Not a directory"),
        (root.to_owned(), "recursive=yes", 400, "recursive is \"yes\""),
        (root.to_owned(), "extended=1", 400, "extended is \"1\""),
        (root.to_owned(), "ignorePatterns=..%2Fa", 400, "\"../a\""),
    ] {
        let response = agent.try_watch(&path, query).await;
        assert_eq!(response.status(), status, "{} {query}", path.display());
        let told = message_of(response).await;
        assert!(told.contains(message), "{told}");
    }
    let request = agent.anonymous(Method::GET, &watch_path(root, "")).bearer_auth(READONLY);
    assert_eq!(within(request.send()).await.unwrap().status(), 403);
}

#[tokio::test]
async fn what_the_user_may_not_read_is_left_out_until_it_may() {
    if !needs_root("run an agent's commands as another user") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    let secret = root.join("secret");
    fs::create_dir_all(secret.join("below")).unwrap();
    fs::set_permissions(root, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o700)).unwrap();
    let agent = Agent::with_args(&["--default-user", "nobody"]);
    assert_eq!(agent.try_watch(&secret, "").await.status(), 403);
    let mut watch = agent.watch(root, "recursive=true").await;
    fs::write(secret.join("x"), "").unwrap();
    assert_eq!(watch.rest().await, []);
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o755)).unwrap();
    watch.tells(&[(Change, &["secret"])]).await;
    watch.is_complete().await;
    fs::write(secret.join("below/y"), "").unwrap();
    watch.tells(&[(Add, &["secret/below/y"])]).await;
}

#[tokio::test]
async fn sees_the_files_that_commands_see_behind_walls() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "workspace"]);
    let agent = &walled.agent;
    let mut watch = agent.watch(Path::new("/tmp"), "").await;
    // The `/tmp` outside is another.
    let outside = TempDir::new_in("/tmp").unwrap();
    agent.run("touch /tmp/inside").await;
    let told = watch.next().await.unwrap();
    assert_eq!((told.kind, &told.paths[..]), (Add, &["/tmp/inside".to_owned()][..]));
    drop(outside);
}

#[tokio::test]
async fn without_the_feature_there_is_no_such_path() {
    let agent = Agent::with_args(&["--without", "watch"]);
    assert_eq!(agent.try_watch(Path::new("/"), "").await.status(), 404);
}
