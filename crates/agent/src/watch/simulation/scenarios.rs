//! Changes that a watcher reads late, all of them after the last one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{EXTENDED, KINDS, Simulation, disk::exchange};
use crate::watch::ChangeKind;

/// Asserts that every client knows what is on disk once the changes were read.
fn assert_known(prepare: impl Fn(&Path), change: impl Fn(&Path, &Path)) {
    for kind in &KINDS {
        let mut simulation = Simulation::new(1, kind, &prepare);
        simulation.settle();
        let (root, outside) = simulation.paths();
        change(&root, &outside);
        simulation.settle();
        let changes = &simulation.known.borrow().changes;
        assert_eq!(simulation.differences(), "", "{kind:?} {changes:#?}");
    }
}

fn rename(from: PathBuf, to: PathBuf) {
    fs::rename(from, to).unwrap();
}

#[test]
fn reports_the_contents_of_a_directory_whose_parent_is_moved_after_it() {
    assert_known(
        |root| {
            fs::create_dir_all(root.join("b/a/b")).unwrap();
            fs::create_dir_all(root.join("c/b")).unwrap();
        },
        |root, _| {
            // The first event is about `d`. It is read at once, and holds what was `b`.
            fs::create_dir(root.join("d")).unwrap();
            rename(root.join("b/a"), root.join("c/b/b"));
            rename(root.join("b"), root.join("d/a"));
        },
    );
}

#[test]
fn reports_both_of_two_exchanged_entries() {
    let prepare = |root: &Path| {
        for directory in ["d/x", "e/y"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in ["f", "g"] {
            fs::write(root.join(file), "").unwrap();
        }
    };
    for [one, other] in [["d", "e"], ["f", "g"], ["d", "f"], ["f", "d"], ["d/x", "f"]] {
        let change = |root: &Path, _: &Path| exchange(&root.join(one), &root.join(other)).unwrap();
        assert_known(prepare, change);
    }
    assert_known(prepare, |root, outside| {
        fs::write(outside.join("h"), "").unwrap();
        exchange(&root.join("f"), &outside.join("h")).unwrap();
        exchange(&outside.join("h"), &root.join("g")).unwrap();
    });
}

#[test]
fn reports_exchanged_entries_of_a_directory_that_is_moved_after_that() {
    assert_known(
        |root| {
            fs::create_dir_all(root.join("d/x")).unwrap();
            fs::create_dir(root.join("e")).unwrap();
            for file in ["d/f", "d/g"] {
                fs::write(root.join(file), "").unwrap();
            }
        },
        |root, _| {
            exchange(&root.join("d/f"), &root.join("d/g")).unwrap();
            exchange(&root.join("d/x"), &root.join("d/f")).unwrap();
            rename(root.join("d"), root.join("e/d"));
        },
    );
}

#[test]
fn does_not_watch_a_directory_that_was_replaced_and_moved_out() {
    assert_known(
        |root| fs::create_dir_all(root.join("a/d")).unwrap(),
        |root, outside| {
            rename(root.join("a/d"), root.join("d"));
            rename(root.join("d"), outside.join("d"));
            fs::create_dir(root.join("d")).unwrap();
            fs::write(outside.join("d/x"), "").unwrap();
        },
    );
}

#[test]
fn reports_a_directory_that_is_moved_into_its_former_child() {
    assert_known(
        |root| {
            fs::create_dir_all(root.join("a/d/x")).unwrap();
            fs::create_dir(root.join("s")).unwrap();
        },
        |root, _| {
            rename(root.join("a/d"), root.join("d"));
            rename(root.join("a"), root.join("d/y"));
            rename(root.join("d"), root.join("s/d"));
            fs::create_dir(root.join("d")).unwrap();
        },
    );
}

#[test]
fn reports_what_is_ignored_no_more_and_from_now_on_below_a_moved_directory() {
    // Ignored are `a/b`, `*/c/a` and `b/b/*`.
    assert_known(
        |root| {
            fs::create_dir_all(root.join("a/x")).unwrap();
            fs::create_dir_all(root.join("x/b/y")).unwrap();
            fs::write(root.join("a/b"), "").unwrap();
        },
        |root, _| {
            rename(root.join("a"), root.join("b"));
            rename(root.join("x"), root.join("a"));
        },
    );
}

#[test]
fn reports_each_move_as_one_although_the_directory_was_moved_on() {
    let prepare = |root: &Path| fs::create_dir_all(root.join("a/x")).unwrap();
    let mut simulation = Simulation::new(1, &EXTENDED, prepare);
    simulation.settle();
    let (root, _) = simulation.paths();
    let names = ["a", "b", "c", "d"].map(|name| root.join(name));
    let moves: Vec<_> = names.windows(2).map(<[_]>::to_vec).collect();
    for paths in &moves {
        fs::rename(&paths[0], &paths[1]).unwrap();
    }
    simulation.settle();
    let expected: Vec<_> = moves.into_iter().map(|paths| (ChangeKind::Renamed, paths)).collect();
    assert_eq!(simulation.known.borrow().changes, expected);
    assert_eq!(simulation.differences(), "");
}
