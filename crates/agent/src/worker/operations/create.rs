use std::ffi::OsString;

use rustix::fs::{Access, AtFlags, Stat, accessat};
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::{Failure, FailureKind},
    metadata::Kind,
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::{Links, Place},
    temporary::{self, Temporary},
};

/// Makes a temporary file, to be put in the place of a path by a [`super::Commit`]: its descriptor comes with the answer. A symbolic
/// link there is followed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Create {
    pub(crate) path: NamedPath,
    /// There is to be nothing there yet, not even a link.
    pub(crate) is_new: bool,
    /// The name of the temporary file, where it has one.
    pub(crate) name: OsString,
}

impl Operation for Create {
    type Answer = Temporary;

    fn run(self, peer: &mut Peer) -> Result<Temporary, Failure> {
        let place = Place::find(&self.path, links(self.is_new))?;
        check(&place, self.is_new)?;
        let path = place.directory_path().join(&self.name);
        let made = temporary::make(&place.directory, path, 0o666);
        let (file, temporary) = made.map_err(|errno| Failure::system(&place.path, errno))?;
        peer.attach(file);
        Ok(temporary)
    }
}

pub(super) fn links(is_new: bool) -> Links {
    if is_new { Links::Keep } else { Links::Follow }
}

/// What is there, and may be replaced by the user, as a shell's `>` would write it.
pub(super) fn check(place: &Place, is_new: bool) -> Result<Option<Stat>, Failure> {
    let Some(stat) = place.stat()? else {
        return Ok(None);
    };
    if is_new {
        let message = format!("{} is there already", place.path.display());
        return Err(Failure::new(FailureKind::Exists, message));
    }
    match Kind::of(&stat) {
        Kind::File => {}
        kind => return Err(Failure::invalid(&place.path, kind.described())),
    }
    accessat(&place.directory, &place.name, Access::WRITE_OK, AtFlags::empty())
        .map_err(|errno| Failure::system(&place.path, errno))?;
    Ok(Some(stat))
}
