use std::path::Component;

use rustix::{
    fs::{Mode, OFlags, fstat, mkdirat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::Failure,
    metadata::Kind,
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::{Links, Place},
};

/// Makes a directory, and those above it that are missing. One that is there stays as it is.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MakeDirectory {
    pub(crate) path: NamedPath,
}

impl Operation for MakeDirectory {
    type Answer = ();

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        if self.is_directory()? {
            return Ok(());
        }
        if !matches!(self.path.components().next_back(), Some(Component::Normal(_))) {
            return Err(Failure::system(&self.path, Errno::NOENT));
        }
        let mut place = Place::find(&self.path, Links::Keep)?;
        let made = place.make_missing()?;
        match mkdirat(&place.directory, &place.name, Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            // Also a link that leads nowhere.
            Err(Errno::EXIST) if self.is_directory()? => {}
            Err(errno) => return Err(Failure::system(&self.path, errno)),
        }
        made.keep();
        Ok(())
    }
}

impl MakeDirectory {
    fn is_directory(&self) -> Result<bool, Failure> {
        match self.path.open(OFlags::PATH).and_then(fstat).map(|stat| Kind::of(&stat)) {
            Ok(Kind::Directory) => Ok(true),
            Ok(kind) => Err(Failure::conflict(&self.path, kind.described())),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(Failure::system(&self.path, errno)),
        }
    }
}
