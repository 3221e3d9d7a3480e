use std::os::fd::AsFd;

use rustix::{fs::Stat, io::Errno};
use serde::{Deserialize, Serialize};

use super::{commit::put, create::check};
use crate::worker::{
    copy_tree::{copy_content, copy_link, copy_tree, is_within, not_copied, open_file},
    failure::Failure,
    metadata::Kind,
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::{Links, Place, open_directory},
    remove_tree::{ReadOnly, remove_tree},
    temporary,
    unfinished::unfinished,
};

/// Copies a file, a link, or a directory with all that is in it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Copy {
    pub(crate) from: NamedPath,
    pub(crate) to: NamedPath,
    /// Also a directory.
    pub(crate) recursive: bool,
}

impl Operation for Copy {
    type Answer = ();
    const IS_LONG: bool = true;

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        let source = Place::find(&self.from, Links::Keep)?;
        let stat = source.stat()?.ok_or_else(|| Failure::reading(&self.from, Errno::NOENT))?;
        if Kind::of(&stat) == Kind::Directory && !self.recursive {
            let what = "is a directory, which is copied with \"recursive\": true alone";
            return Err(Failure::invalid(&self.from, what));
        }
        copy(&source, &stat, &self.to)
    }
}

/// Copies what is at a place to a path: a file takes the place of another one as a whole, anything else is new there.
pub(super) fn copy(source: &Place, stat: &Stat, to: &NamedPath) -> Result<(), Failure> {
    let reading = |errno| Failure::reading(&source.path, errno);
    let writing = |errno| Failure::system(to, errno);
    match Kind::of(stat) {
        Kind::File => copy_file(source, to),
        Kind::Symlink => {
            let mut place = new_place(to)?;
            let made = place.make_missing()?;
            copy_link(
                source.directory.as_fd(),
                &source.name,
                (place.directory.as_fd(), &place.name),
            )
            .map_err(writing)?;
            made.keep();
            Ok(())
        }
        Kind::Directory => {
            let directory = open_directory(&source.directory, &source.name).map_err(reading)?;
            let mut place = Place::find(to, Links::Keep)?;
            if is_within(place.directory.as_fd(), stat).map_err(writing)? {
                return Err(Failure::invalid(to, "is in what is to be copied there"));
            }
            refuse_existing(&place)?;
            let made = place.make_missing()?;
            let copy = (place.directory.as_fd(), place.name.as_os_str());
            copy_tree(directory, copy, &source.path).inspect_err(|_| {
                let directory = place.directory.as_fd();
                let _incomplete = remove_tree(directory, &place.name, to, ReadOnly::MakeWritable);
            })?;
            made.keep();
            Ok(())
        }
        kind => Err(not_copied(&source.path, kind)),
    }
}

fn copy_file(source: &Place, to: &NamedPath) -> Result<(), Failure> {
    let reading = |errno| Failure::reading(&source.path, errno);
    let writing = |errno| Failure::system(to, errno);
    let (file, bits) = open_file(source.directory.as_fd(), &source.name).map_err(reading)?;
    let mut place = Place::find(to, Links::Follow)?;
    check(&place, false)?;
    let name = temporary::random_name().map_err(writing)?;
    let path = place.directory_path().join(name);
    let (copy, temporary) = temporary::make(&place.directory, path, bits).map_err(writing)?;
    let copied = copy.try_clone().map_err(|_| Errno::MFILE);
    let placed = copied.and_then(|copied| copy_content(file, copied)).map_err(writing);
    let placed = placed.and_then(|()| {
        let _unfinished = unfinished();
        let made = place.make_missing()?;
        put(copy.as_fd(), &temporary, &place, false, None)?;
        made.keep();
        Ok(())
    });
    if placed.is_err() && temporary.is_named {
        let _gone = temporary::remove(&temporary.path);
    }
    placed
}

fn new_place(to: &NamedPath) -> Result<Place, Failure> {
    let place = Place::find(to, Links::Keep)?;
    refuse_existing(&place)?;
    Ok(place)
}

fn refuse_existing(place: &Place) -> Result<(), Failure> {
    match place.stat()? {
        Some(_) => Err(Failure::system(&place.path, Errno::EXIST)),
        None => Ok(()),
    }
}
