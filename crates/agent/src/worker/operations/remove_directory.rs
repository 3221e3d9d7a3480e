use std::{os::fd::AsFd, path::PathBuf};

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, Stat, fstat, openat, stat, unlinkat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    copy_tree::is_within,
    failure::Failure,
    metadata::Kind,
    named_path::NamedPath,
    operation::Operation,
    path_bytes,
    peer::Peer,
    place::{Links, Place},
    remove_tree::{ReadOnly, remove_tree},
};

/// Removes a directory. A link to one is none.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RemoveDirectory {
    pub(crate) path: NamedPath,
    /// With all that is in it.
    pub(crate) recursive: bool,
    /// Neither it nor what it is in is removed.
    #[serde(with = "path_bytes")]
    pub(crate) workspace: PathBuf,
}

impl Operation for RemoveDirectory {
    type Answer = ();
    const IS_LONG: bool = true;

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        let failed = |errno| Failure::reading(&self.path, errno);
        if let Ok(directory) = self.path.open(OFlags::PATH).and_then(fstat) {
            self.check(&directory)?;
        }
        let place = Place::find(&self.path, Links::Keep)?;
        let there = place.stat()?.ok_or_else(|| failed(Errno::NOENT))?;
        match Kind::of(&there) {
            Kind::Directory => {}
            kind => return Err(Failure::invalid(&self.path, kind.described())),
        }
        if self.recursive {
            let directory = place.directory.as_fd();
            return remove_tree(directory, &place.name, &self.path, ReadOnly::Refuse);
        }
        unlinkat(&place.directory, &place.name, AtFlags::REMOVEDIR)
            .map_err(|errno| Failure::system(&self.path, errno))
    }
}

impl RemoveDirectory {
    /// Refuses the root and the workspace, and what the workspace is in.
    fn check(&self, directory: &Stat) -> Result<(), Failure> {
        let refused = |what| Err(Failure::invalid(&self.path, what));
        let root = stat("/");
        if root.is_ok_and(|root| (root.st_dev, root.st_ino) == (directory.st_dev, directory.st_ino))
        {
            return refused("is the root directory, which is not removed");
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        // Where the workspace can't be looked at it is not in what can be removed.
        let workspace = openat(CWD, &self.workspace, flags, Mode::empty());
        if workspace.is_ok_and(|at| is_within(at.as_fd(), directory).unwrap_or(false)) {
            return refused("is the workspace, or what that is in, which is not removed");
        }
        Ok(())
    }
}
