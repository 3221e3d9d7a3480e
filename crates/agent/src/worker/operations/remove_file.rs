use rustix::{
    fs::{AtFlags, unlinkat},
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

/// Removes whatever has a name and is no directory. A link is not followed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RemoveFile {
    pub(crate) path: NamedPath,
}

impl Operation for RemoveFile {
    type Answer = ();

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        let place = Place::find(&self.path, Links::Keep)?;
        let failed = |errno| Failure::reading(&self.path, errno);
        let stat = place.stat()?.ok_or_else(|| failed(Errno::NOENT))?;
        if Kind::of(&stat) == Kind::Directory {
            return Err(Failure::invalid(&self.path, Kind::Directory.described()));
        }
        unlinkat(&place.directory, &place.name, AtFlags::empty()).map_err(failed)
    }
}
