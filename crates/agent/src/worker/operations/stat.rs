use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::Failure, metadata::Metadata, named_path::NamedPath, operation::Operation, peer::Peer,
};

/// Says what is known of a file.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Stat {
    pub(crate) path: NamedPath,
}

impl Operation for Stat {
    type Answer = Metadata;

    fn run(self, _: &mut Peer) -> Result<Metadata, Failure> {
        let failed = |errno| Failure::reading(&self.path, errno);
        self.path.reach().and_then(|reach| reach.metadata(&self.path)).map_err(failed)
    }
}
