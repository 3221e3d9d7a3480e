use std::{os::fd::AsFd, path::Path};

use rustix::{
    fs::{AtFlags, renameat, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::copy::copy;
use crate::worker::{
    failure::{Failure, FailureKind},
    metadata::Kind,
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::{Links, Place},
    remove_tree::{ReadOnly, remove_tree},
};

/// Gives something another path, as rename(2) does; across file systems by a copy and a removal.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Move {
    pub(crate) from: NamedPath,
    pub(crate) to: NamedPath,
}

impl Operation for Move {
    type Answer = ();
    const IS_LONG: bool = true;

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        let source = Place::find(&self.from, Links::Keep)?;
        source.stat()?.ok_or_else(|| Failure::reading(&self.from, Errno::NOENT))?;
        let mut place = Place::find(&self.to, Links::Keep)?;
        let made = place.make_missing()?;
        match renameat(&source.directory, &source.name, &place.directory, &place.name) {
            Ok(()) => {}
            Err(Errno::XDEV) => move_across(&source, &place, &self.to)?,
            Err(errno) => return Err(refused(errno, &self.from, &self.to)),
        }
        made.keep();
        Ok(())
    }
}

fn refused(errno: Errno, from: &Path, to: &Path) -> Failure {
    match errno {
        Errno::INVAL => {
            Failure::invalid(to, &format!("is in {}, which is to be moved there", from.display()))
        }
        Errno::ISDIR => Failure::conflict(to, "is a directory, which no file takes the place of"),
        Errno::NOTDIR => Failure::conflict(
            to,
            "is no directory, and a directory takes the place of an empty one alone",
        ),
        errno => {
            let failure = Failure::system(to, errno);
            // It may be either of them.
            let message = format!("{} can't be moved: {}", from.display(), failure.message);
            Failure::new(failure.kind, message)
        }
    }
}

fn move_across(source: &Place, place: &Place, to: &NamedPath) -> Result<(), Failure> {
    let stat = source.stat()?.ok_or_else(|| Failure::reading(&source.path, Errno::NOENT))?;
    let is_directory = Kind::of(&stat) == Kind::Directory;
    // As where it takes one system call.
    match (is_directory, place.stat()?.map(|there| Kind::of(&there))) {
        (_, None) | (false, Some(Kind::File)) => {}
        (true, Some(Kind::Directory)) => {
            unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR)
                .map_err(|errno| refused(errno, &source.path, to))?;
        }
        (true, Some(_)) => return Err(refused(Errno::NOTDIR, &source.path, to)),
        (false, Some(Kind::Directory)) => return Err(refused(Errno::ISDIR, &source.path, to)),
        (false, Some(_)) => {
            unlinkat(&place.directory, &place.name, AtFlags::empty())
                .map_err(|errno| Failure::system(to, errno))?;
        }
    }
    copy(source, &stat, to)?;
    let removed = if is_directory {
        remove_tree(source.directory.as_fd(), &source.name, &source.path, ReadOnly::MakeWritable)
    } else {
        unlinkat(&source.directory, &source.name, AtFlags::empty())
            .map_err(|errno| Failure::system(&source.path, errno))
    };
    removed.map_err(|failure| {
        let message = format!(
            "{} was copied to {}, and can't be removed: {}",
            source.path.display(),
            to.display(),
            failure.message
        );
        Failure::new(FailureKind::System, message)
    })
}
