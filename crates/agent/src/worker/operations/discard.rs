use std::ffi::OsString;

use rustix::{
    fs::{AtFlags, CWD, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::Failure,
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::{Links, Place},
    temporary,
};

/// Removes the temporary file of a [`super::Create`] or [`super::Commit`] that did not come to its end, where it has a name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Discard {
    /// That of the file whose place it was to take.
    pub(crate) path: NamedPath,
    pub(crate) name: OsString,
}

impl Operation for Discard {
    type Answer = ();

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        if !temporary::is_temporary(&self.name) {
            return Err(Failure::system(&self.path, Errno::INVAL));
        }
        let place = Place::find(&self.path, Links::Follow)?;
        // It was in the last directory that was there: by now there may be others below that.
        for directory in place.path.ancestors().skip(1) {
            let path = directory.join(&self.name);
            match unlinkat(CWD, &path, AtFlags::empty()) {
                Ok(()) => {
                    temporary::forget(&path);
                    break;
                }
                Err(Errno::NOENT | Errno::NOTDIR) => {}
                Err(errno) => return Err(Failure::system(&path, errno)),
            }
        }
        Ok(())
    }
}
