//! Directories that are watched, by inotify(7). It runs in a worker (`worker/operations/watch.rs`), a thread for each watch.
//!
//! A [`Watcher`] has a watch of the system's for each directory, which tells what happens to the names in it and nothing of what is
//! below. `Tree` knows which directory is where, as far as has been told; `MoveQueue` has the events that were read, and puts the
//! halves of moves together; `disk.rs` opens directories without being led elsewhere by what changes meanwhile; `Changes` is what
//! is told.
//!
//! **Nothing is lost.** A directory gets its watch before it is read: what appears in it afterwards is told by an event, what was there is
//! found. The same holds for one that appears later, so it does not matter how it was filled. What both have seen is told once.
//!
//! The tree is behind the disk, by the events that wait. Only directories that were found since are
//! ahead of them. Of each directory in the tree clients know all entries, under the path that the
//! tree has, apart from the changes in waiting events. A directory of which that is not sure is
//! forgotten, with its watch and everything below it. A waiting event says where it is now, or a
//! directory above it; there it is found anew, and reported with its contents. This happens
//! - if it is found elsewhere than in the tree: an entry that has left it since is at neither place,
//!   and clients know that entry under the old path only;
//! - if it can't be opened by the path that the tree has: it was moved, or a directory above it was;
//! - if another directory has taken its place;
//! - if a move can't be matched with the directory that was moved (`moves.rs`).
//!
//! **Memory.** While nobody takes what is told no event is read, and the system's queue overflows in the end. Then that is told, after all
//! watches have been set anew: who looks at the directory after it was told has missed nothing.

mod changes;
mod disk;
mod end;
mod events;
mod inotify;
#[cfg(test)]
mod meanwhile;
mod move_queue;
mod moves;
mod scan;
#[cfg(test)]
mod simulation;
mod tree;
mod watcher;

pub(crate) use changes::{Audience, Change, ChangeKind, Changes};
pub(crate) use end::End;
pub(crate) use watcher::{Scope, Watcher};
