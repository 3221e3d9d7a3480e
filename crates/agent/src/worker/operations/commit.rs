use std::os::fd::{AsFd, BorrowedFd};

use rustix::{
    fs::{Gid, Mode, Stat, Uid, fchmod, fchown, fstat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use super::create::{check, links};
use crate::worker::{
    failure::Failure,
    metadata::{Attributes, Metadata},
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
    place::Place,
    temporary::{self, Temporary},
    unfinished::unfinished,
};

/// Puts a temporary file, whose descriptor comes with the request, in its place: with the mode and owner of what it replaces.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Commit {
    pub(crate) path: NamedPath,
    pub(crate) is_new: bool,
    /// Its permission bits; none for those of what it replaces, or as a new file has them.
    pub(crate) mode: Option<u32>,
    pub(crate) temporary: Temporary,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Committed {
    /// There was nothing before.
    pub(crate) is_new: bool,
    pub(crate) metadata: Metadata,
}

/// How often it is tried while others put something there, and take it away.
const ROUNDS: usize = 8;

impl Operation for Commit {
    type Answer = Committed;

    fn run(self, peer: &mut Peer) -> Result<Committed, Failure> {
        let file =
            peer.take_descriptor().ok_or_else(|| Failure::system(&self.path, Errno::BADF))?;
        let _unfinished = unfinished();
        let mut place = Place::find(&self.path, links(self.is_new))?;
        let failed = |errno| Failure::system(&self.path, errno);
        let own = fstat(&file).map_err(failed)?;
        let committed = |is_new| {
            // Of the file itself: another may have the name by now.
            let attributes = Attributes::of(&fstat(&file).map_err(failed)?);
            let metadata = Metadata { kind: attributes.kind, link: None, attributes };
            Ok(Committed { is_new, metadata })
        };
        // Asked again, since nobody heard the answer.
        let there = place.stat()?;
        if there.is_some_and(|there| (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)) {
            return committed(self.is_new);
        }
        let made = place.make_missing()?;
        let is_new = put(file.as_fd(), &self.temporary, &place, self.is_new, self.mode)?;
        made.keep();
        committed(is_new)
    }
}

/// Puts a file in a place whose directory is there; returns whether nothing was there before.
pub(super) fn put(
    file: BorrowedFd<'_>,
    temporary: &Temporary,
    place: &Place,
    is_new: bool,
    mode: Option<u32>,
) -> Result<bool, Failure> {
    let failed = |errno| Failure::system(&place.path, errno);
    let own = fstat(file).map_err(failed)?;
    let (directory, name) = (&place.directory, &place.name);
    for _ in 0..ROUNDS {
        let old = check(place, is_new)?;
        set_attributes(file, &own, old.as_ref(), mode, place.mode_bits).map_err(failed)?;
        let done = match old {
            None => temporary::link(file, temporary, directory, name),
            Some(_) => temporary::replace(file, temporary, directory, name),
        };
        match done {
            Ok(()) => return Ok(old.is_none()),
            // It was put there meanwhile.
            Err(Errno::EXIST) if old.is_none() => {}
            Err(Errno::BUSY) => {
                let what = "is a mount point by itself, which nothing can take the place of";
                return Err(Failure::conflict(&place.path, what));
            }
            Err(errno) => return Err(failed(errno)),
        }
    }
    Err(Failure::conflict(&place.path, "changes all the time"))
}

/// Gives a file the mode and owner of what it replaces, as far as the user may, or this mode; of the
/// mode only these bits.
fn set_attributes(
    file: BorrowedFd<'_>,
    own: &Stat,
    old: Option<&Stat>,
    mode: Option<u32>,
    bits: u32,
) -> Result<(), Errno> {
    let mut keeps_owner = true;
    if let Some(old) = old {
        let uid = (old.st_uid != own.st_uid).then(|| Uid::from_raw(old.st_uid));
        let gid = (old.st_gid != own.st_gid).then(|| Gid::from_raw(old.st_gid));
        if uid.is_some() || gid.is_some() {
            // Who may write there need not be who it belongs to: a member of its group keeps that.
            let given = fchown(file, uid, gid).or_else(|_| fchown(file, None, gid));
            keeps_owner = uid.is_none() && given.is_ok() || fstat(file)?.st_uid == old.st_uid;
        }
    }
    let Some(mode) = mode.or(old.map(|old| old.st_mode & 0o7777)) else {
        return Ok(());
    };
    // What gives the rights of its owner is not to give those of another.
    let mode = if keeps_owner { mode & bits } else { mode & 0o777 };
    fchmod(file, Mode::from_raw_mode(mode))
}
