use std::path::PathBuf;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::worker::{failure::Failure, operation::Operation, path_bytes, peer::Peer, temporary};

/// Removes a temporary file that has a name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Discard {
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
}

impl Operation for Discard {
    type Answer = ();

    fn run(self, _: &mut Peer) -> Result<(), Failure> {
        if !temporary::is_temporary(&self.path) {
            return Err(Failure::system(&self.path, Errno::INVAL));
        }
        match temporary::remove(&self.path) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(Failure::system(&self.path, errno)),
        }
    }
}
