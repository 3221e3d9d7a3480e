use rustix::{
    fs::{Mode, OFlags, fchmod, fstat, openat},
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

/// Opens a file for writing at its end: its descriptor comes with the answer, which says whether it was made.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Append {
    pub(crate) path: NamedPath,
    /// The permission bits of a new one; none for the usual ones.
    pub(crate) mode: Option<u32>,
}

impl Operation for Append {
    type Answer = bool;

    fn run(self, peer: &mut Peer) -> Result<bool, Failure> {
        let mut place = Place::find(&self.path, Links::Follow)?;
        let failed = |errno| Failure::system(&self.path, errno);
        let check = |kind| match kind {
            Kind::File => Ok(()),
            kind => Err(Failure::invalid(&self.path, kind.described())),
        };
        if let Some(stat) = place.stat()? {
            check(Kind::of(&stat))?;
        }
        let made = place.make_missing()?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let open = |more| {
            let more = more | OFlags::NONBLOCK | OFlags::NOCTTY;
            openat(&place.directory, &place.name, flags | more, Mode::from_raw_mode(0o666))
        };
        let (file, is_new) = match open(OFlags::CREATE | OFlags::EXCL) {
            Err(Errno::EXIST) => (open(OFlags::empty()).map_err(failed)?, false),
            file => (file.map_err(failed)?, true),
        };
        check(Kind::of(&fstat(&file).map_err(failed)?))?;
        if let Some(mode) = self.mode.filter(|_| is_new) {
            fchmod(&file, Mode::from_raw_mode(mode & place.mode_bits)).map_err(failed)?;
        }
        made.keep();
        peer.attach(file);
        Ok(is_new)
    }
}
