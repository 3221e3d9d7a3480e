use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use crate::files::{Access, Kind, Place, Places};

/// One mount of a box. Each comes behind those that it lies in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mount {
    /// Processes, of the box alone.
    Proc,
    /// The usual devices, and terminals of the box's own.
    Dev,
    /// The place itself, read-only.
    Read(PathBuf),
    /// The place itself.
    Write(PathBuf),
    /// The place itself, with devices.
    Device(PathBuf),
    /// An empty directory that may be written, and goes with the box.
    Private(PathBuf),
    /// An empty directory. It becomes read-only when all that lies in it is there.
    EmptyDirectory(PathBuf),
    /// A file that can't be opened.
    NoFile(PathBuf),
}

impl Mount {
    /// Place at which it is; none for the sandbox's own directories.
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Proc | Self::Dev => None,
            Self::Read(path)
            | Self::Write(path)
            | Self::Device(path)
            | Self::Private(path)
            | Self::EmptyDirectory(path)
            | Self::NoFile(path) => Some(path),
        }
    }

    /// The place that is to be the same inside as outside.
    pub(super) fn bound(&self) -> Option<&Path> {
        match self {
            Self::Read(path) | Self::Write(path) | Self::Device(path) => Some(path),
            Self::Proc
            | Self::Dev
            | Self::Private(_)
            | Self::EmptyDirectory(_)
            | Self::NoFile(_) => None,
        }
    }
}

/// The mounts that give commands each place as its rule says, and nothing else.
///
/// A directory can be renamed with the mounts in it, and another put into its place. So each directory between a place that
/// may not be written, or is not there, and the one around it that may be written is a mount, too: those can't be renamed
/// (`rename(2)`, EBUSY). Such a mount comes before all that lies in it: it would cover that.
#[must_use]
pub fn mounts(places: &Places) -> Vec<Mount> {
    let mut mounts = Vec::new();
    let mut pinned: HashSet<&Path> = HashSet::new();
    let mut places = places.iter().peekable();
    if let Some(root) = places.next_if(|place| place.path == Path::new("/")) {
        mounts.push(mount(root));
    }
    mounts.extend([Mount::Dev, Mount::Proc]);
    let mut around: Vec<&Place> = Vec::new();
    for place in places {
        while around.last().is_some_and(|outer| !place.path.starts_with(&outer.path)) {
            around.pop();
        }
        let outer = around.last().copied();
        around.push(place);
        if let Some(outer) =
            outer.filter(|outer| outer.rule.access == Access::Write && is_kept(place))
        {
            let between = place.path.ancestors().skip(1).take_while(|path| *path != outer.path);
            let between: Vec<&Path> = between.filter(|path| !pinned.contains(path)).collect();
            mounts.extend(between.iter().rev().map(|path| Mount::Write((*path).to_owned())));
            pinned.extend(between);
        }
        mounts.push(mount(place));
    }
    mounts
}

/// Whether a place has to stay where it is.
fn is_kept(place: &Place) -> bool {
    place.rule.access < Access::Write
}

fn mount(place: &Place) -> Mount {
    let path = place.path.clone();
    match (place.rule.access, place.kind) {
        (Access::Read, Kind::Directory) if !place.exists => Mount::EmptyDirectory(path),
        (Access::Read, _) => Mount::Read(path),
        (Access::Write, _) if path.starts_with("/dev") => Mount::Device(path),
        (Access::Write, _) => Mount::Write(path),
        (Access::Private | Access::Hide, Kind::File) => Mount::NoFile(path),
        (Access::Private, Kind::Directory) => Mount::Private(path),
        (Access::Hide, Kind::Directory) => Mount::EmptyDirectory(path),
    }
}
