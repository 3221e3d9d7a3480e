use std::path::PathBuf;

use rustix::fs::CWD;
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::Failure, metadata::Metadata, operation::Operation, path_bytes, peer::Peer,
};

/// Says what is known of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stat {
    /// Absolute, as in all operations.
    #[serde(with = "path_bytes")]
    pub(crate) path: PathBuf,
}

impl Operation for Stat {
    type Answer = Metadata;

    fn run(self, _: &mut Peer) -> Result<Metadata, Failure> {
        let path = self.path.as_os_str();
        Metadata::of(CWD, path).map_err(|errno| Failure::reading(&self.path, errno))
    }
}
