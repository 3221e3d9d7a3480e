//! Directories that are watched, by inotify(7). It runs in a worker (`worker/operations/watch.rs`), a thread for each watch.
//!
//! A [`Watcher`] has a watch of the system's for each directory, which tells what happens to the names in it and nothing of what is
//! below. `Tree` knows which directory is where, as far as has been told; `MoveQueue` has the events that were read, and puts the
//! halves of moves together; `disk.rs` opens directories without being led elsewhere by what changes meanwhile; `Changes` is what
//! is told.
//!
//! **Nothing is lost.** A directory gets its watch before it is read: what appears in it afterwards is told by an event, what was there is
//! found. The same holds for one that appears later, so it does not matter how it was filled. What both have seen is told once.
//! The tree is behind what is on disk, by the events that wait. A directory is opened by the path that the tree has for it, so it is
//! looked whether that is still the same directory; where it is not, an event that waits says what has become of it, and it is read then.
//!
//! **Memory.** While nobody takes what is told no event is read, and the system's queue overflows in the end. Then that is told, after all
//! watches have been set anew: who looks at the directory after it was told has missed nothing.

mod changes;
mod disk;
mod end;
mod inotify;
mod move_queue;
mod moves;
mod scan;
mod tree;
mod watcher;

pub(crate) use changes::{Audience, Change, ChangeKind, Changes};
pub(crate) use end::End;
pub(crate) use watcher::{Scope, Watcher};
