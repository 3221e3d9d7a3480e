//! Links that are exchanged while something is done, as a command may do that.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread::JoinHandle,
};

use nix::fcntl::{RenameFlags, renameat2};
use reqwest::Method;

use super::{Space, names, route};
use crate::support::TIMEOUT;

/// Exchanges a directory and a link to another place all the time, until it is dropped.
struct Exchange {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Exchange {
    /// They have been exchanged when it returns, whenever the thread gets to run.
    fn of(directory: &Path, target: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let link = directory.with_extension("link");
        symlink(target, &link).unwrap();
        let (stopped, directory) = (Arc::clone(&stop), directory.to_owned());
        let (begun, first) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let mut count = 0;
            while !stopped.load(Ordering::Relaxed) {
                // It may be gone.
                let exchanged = renameat2(
                    nix::fcntl::AT_FDCWD,
                    &directory,
                    nix::fcntl::AT_FDCWD,
                    &link,
                    RenameFlags::RENAME_EXCHANGE,
                );
                if exchanged.is_ok() {
                    count += 1;
                    // After the first, nobody hears it.
                    let _unheard = begun.send(());
                }
            }
            count
        });
        first.recv_timeout(TIMEOUT).expect("they are exchanged");
        Self { stop, thread: Some(thread) }
    }

    /// Ends it; returns how often they were exchanged.
    fn end(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A place that nothing may touch.
fn outside(space: &Space) -> PathBuf {
    let outside = space.path("outside");
    fs::create_dir(&outside).unwrap();
    for number in 0..50 {
        fs::write(outside.join(number.to_string()), "kept").unwrap();
    }
    outside
}

fn assert_kept(outside: &Path) {
    assert_eq!(names(outside).len(), 50);
    for name in names(outside) {
        assert_eq!(fs::read(outside.join(name)).unwrap(), b"kept");
    }
}

const ROUNDS: usize = 8;

#[tokio::test]
async fn a_removal_never_follows_a_link_that_is_exchanged_for_a_directory() {
    let space = Space::start();
    let outside = outside(&space);
    let mut count = 0;
    // In each the moment comes once.
    for _ in 0..300 {
        let tree = space.path("tree");
        fs::create_dir_all(tree.join("sub/sub")).unwrap();
        let exchange = Exchange::of(&tree.join("sub"), &outside);
        // It may fail, since something is there again and again.
        space.agent.remove_directory("tree", "").await;
        count += exchange.end();
        assert_kept(&outside);
        let _rest = fs::remove_dir_all(&tree);
    }
    assert!(count > 0);
}

#[tokio::test]
async fn a_copy_never_follows_a_link_that_is_exchanged_for_a_directory() {
    let space = Space::start();
    let outside = outside(&space);
    let tree = space.path("tree");
    fs::create_dir_all(tree.join("sub")).unwrap();
    for file in 0..20 {
        fs::write(tree.join(format!("sub/inside-{file}")), "").unwrap();
    }
    let exchange = Exchange::of(&tree.join("sub"), &outside);
    let mut copied = 0;
    for round in 0..ROUNDS * 5 {
        let copy = format!("copy-{round}");
        if space.agent.copy_all("tree", &copy).await.status() != 200 {
            continue;
        }
        copied += 1;
        for name in ["sub", "sub.link"] {
            let copy = space.path(&copy).join(name);
            if copy.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
                assert!(names(&copy).iter().all(|name| name.starts_with("inside-")));
            }
        }
    }
    assert!(exchange.end() > 0 && copied > 0);
    assert_kept(&outside);
}

#[tokio::test]
async fn a_tree_is_never_unpacked_through_a_link_that_is_exchanged_for_a_directory() {
    let space = Space::start();
    let outside = outside(&space);
    let names_of: Vec<String> = (0..200).map(|file| format!("sub/{file}")).collect();
    let entries: Vec<_> =
        names_of.iter().map(|name| (name.as_str(), tar::EntryType::Regular, "", "new")).collect();
    let stream = super::trees::stream(&entries);
    fs::create_dir_all(space.path("into/sub")).unwrap();
    let exchange = Exchange::of(&space.path("into/sub"), &outside);
    for _ in 0..ROUNDS * 5 {
        let request = space.agent.request(Method::PUT, &route("trees", "into"));
        space.agent.call(request.body(stream.clone())).await;
    }
    assert!(exchange.end() > 0);
    assert_kept(&outside);
}
