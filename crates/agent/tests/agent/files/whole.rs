//! Whole or not at all: whichever process is killed, and whoever goes away, at any moment.

use std::{fs, path::Path, time::Duration};

use futures_util::{StreamExt, stream};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use reqwest::Body;

use super::{Space, json_of, names, raw::pattern, refused};
use crate::support::{needs, needs_root, until, within};

const LENGTH: usize = 3_000_000;

/// A body of so many bytes, which takes a moment.
fn slow(bytes: &[u8]) -> Body {
    let chunks: Vec<_> = bytes.chunks(64 * 1024).map(<[u8]>::to_vec).collect();
    Body::wrap_stream(stream::iter(chunks).then(async |chunk| {
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(chunk)
    }))
}

/// That a file is the old one or the new one, and alone.
fn assert_whole(directory: &Path, old: Option<&[u8]>, new: &[u8]) {
    let names = names(directory);
    assert!(names.iter().all(|name| name == "file"), "{names:?}");
    match fs::read(directory.join("file")) {
        Ok(bytes) => {
            assert!(bytes == new || Some(bytes.as_slice()) == old, "{} bytes", bytes.len());
        }
        Err(_) => assert_eq!(old, None),
    }
}

#[tokio::test]
async fn a_body_that_breaks_leaves_nothing() {
    let space = Space::start();
    for old in [None, Some(&b"old"[..])] {
        if let Some(old) = old {
            fs::write(space.path("file"), old).unwrap();
        }
        for length in [0, 1, 600_000, LENGTH] {
            let chunks = [Ok(pattern(length)), Err(std::io::Error::other("as it is to"))];
            let body = Body::wrap_stream(stream::iter(chunks));
            within(space.put("file", "").body(body).send()).await.unwrap_err();
            let expected = usize::from(old.is_some());
            until("nothing is beside it", async || space.names().len() == expected).await;
            assert_whole(&space.workspace, old, old.unwrap_or_default());
        }
        let missing = space.put("made/for/it", "");
        let chunks = [Ok(vec![1]), Err(std::io::Error::other("as it is to"))];
        within(missing.body(Body::wrap_stream(stream::iter(chunks))).send()).await.unwrap_err();
        until("nothing is left", async || space.names().iter().all(|name| name == "file")).await;
    }
}

#[tokio::test]
async fn an_agent_that_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let mut random = StdRng::seed_from_u64(18);
    let new = pattern(LENGTH);
    for round in 0..16 {
        let mut space = Space::start();
        space.agent.stat("").await;
        let old = (round % 2 == 0).then_some(&b"old"[..]);
        if let Some(old) = old {
            fs::write(space.path("file"), old).unwrap();
        }
        let put = tokio::spawn(space.put("file", "").body(slow(&new)).send());
        tokio::time::sleep(Duration::from_micros(random.random_range(0..40_000))).await;
        let workers = space.agent.worker_pids();
        space.agent.kill();
        let _cut = within(put).await;
        for pid in workers {
            until("its worker has ended", async || !crate::support::lives(pid)).await;
        }
        assert_whole(&space.workspace, old, &new);
    }
}

#[tokio::test]
async fn a_worker_that_is_killed_at_any_moment_leaves_the_old_file_or_the_new_one() {
    let mut random = StdRng::seed_from_u64(19);
    let space = Space::start();
    let (one, two) = (pattern(100_000), pattern(200_000));
    fs::write(space.path("file"), &one).unwrap();
    for round in 0..80 {
        let (old, new) = if round % 2 == 0 { (&one, &two) } else { (&two, &one) };
        fs::write(space.path("file"), old).unwrap();
        space.agent.stat("").await;
        let put = tokio::spawn(space.put("file", "").body(new.clone()).send());
        tokio::time::sleep(Duration::from_micros(random.random_range(0..3_000))).await;
        for pid in space.agent.worker_pids() {
            let _gone = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        let response = within(put).await.unwrap().unwrap();
        let (status, bytes) = (response.status().as_u16(), fs::read(space.path("file")).unwrap());
        // What is answered is so; where nobody knows it is either.
        match status {
            200 => assert_eq!(&bytes, new, "{round}"),
            503 => {}
            status => panic!("{status}: {}", response.text().await.unwrap()),
        }
        until("no other file is beside it", async || names(&space.workspace) == ["file"]).await;
        assert_whole(&space.workspace, Some(old), new);
    }
}

/// A file system that is unmounted with the test.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _gone = nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH);
    }
}

#[tokio::test]
async fn on_a_full_disk_the_old_file_stays() {
    if !needs_root("mount a small disk") {
        return;
    }
    let space = Space::start();
    fs::create_dir(space.path("small")).unwrap();
    let mounted = nix::mount::mount(
        Some("tmpfs"),
        &space.path("small"),
        Some("tmpfs"),
        nix::mount::MsFlags::empty(),
        Some("size=2m"),
    );
    if !needs(mounted.is_ok(), "the right to mount a file system") {
        return;
    }
    let mounted = Mounted(space.path("small"));
    fs::write(space.path("small/file"), "old").unwrap();
    for _ in 0..3 {
        refused(space.put_bytes("small/file", pattern(LENGTH)).await, 507, "No space").await;
        refused(space.agent.post_file("small/new/file", pattern(LENGTH)).await, 507, "No space")
            .await;
        until("nothing is beside it", async || names(&space.path("small")) == ["file"]).await;
        assert_whole(&space.path("small"), Some(b"old"), b"old");
    }
    fs::write(space.path("large"), pattern(LENGTH)).unwrap();
    refused(space.agent.act("copy", "large", "small/file").await, 507, "No space").await;
    refused(space.agent.act("move", "large", "small/file").await, 507, "No space").await;
    assert_whole(&space.path("small"), Some(b"old"), b"old");
    // There is room again.
    assert_eq!(
        json_of(space.put_bytes("small/file", pattern(1_000_000)).await, 200).await["size"],
        1_000_000
    );
    drop(mounted);
}

/// How much of a process is in memory, in KiB.
fn resident(pid: u32) -> u64 {
    crate::support::status_of(pid, "VmRSS").unwrap()
}

#[tokio::test]
async fn however_large_a_file_is_memory_has_a_bound() {
    const MIB: usize = 1024 * 1024;
    let space = Space::start();
    space.agent.stat("").await;
    let chunk = vec![7_u8; MIB];
    let idle = resident(space.agent.pid());
    let mut most = 0;
    let body = stream::iter(0..200).map(move |_| Ok::<_, std::io::Error>(chunk.clone()));
    let put = tokio::spawn(space.put("file", "").body(Body::wrap_stream(body)).send());
    while !put.is_finished() {
        most = most.max(resident(space.agent.pid()));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(put.await.unwrap().unwrap().status(), 201);
    let mut response = space.agent.call(space.raw("file")).await;
    let mut length = 0;
    while let Some(chunk) = within(response.chunk()).await.unwrap() {
        length += chunk.len();
        most = most.max(resident(space.agent.pid()));
    }
    assert_eq!(length, 200 * MIB);
    // Of a tree, too; the worker's memory as well.
    let mut response =
        space.agent.call(space.agent.request(reqwest::Method::GET, "/api/v1/trees/")).await;
    let [worker] = space.agent.worker_pids()[..] else { panic!("no worker") };
    let mut of_worker = 0;
    while within(response.chunk()).await.unwrap().is_some() {
        most = most.max(resident(space.agent.pid()));
        of_worker = of_worker.max(resident(worker));
    }
    assert!(most < idle + 64 * 1024 && of_worker < 64 * 1024, "{idle}, {most}, {of_worker} KiB");
}
