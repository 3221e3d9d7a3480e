use rustix::{
    fs::{OFlags, fstat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::worker::{
    failure::{Failure, FailureKind},
    metadata::{Attributes, Kind},
    named_path::NamedPath,
    operation::Operation,
    peer::Peer,
};

/// Opens a file for reading: its descriptor comes with the answer. It is non-blocking, so that what is like a file and has no end, as
/// some are in `/proc`, holds up nobody who reads it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    pub(crate) path: NamedPath,
}

impl Operation for Open {
    type Answer = Attributes;

    fn run(self, peer: &mut Peer) -> Result<Attributes, Failure> {
        let failed = |errno| Failure::reading(&self.path, errno);
        // Before it is opened, which would do something to a FIFO or a device.
        let named = self.path.open(OFlags::PATH).and_then(fstat).map_err(failed)?;
        self.check(Kind::of(&named))?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = self.path.open(flags).map_err(|errno| match errno {
            // A lease (fcntl(2), F_SETLEASE).
            Errno::AGAIN => {
                Failure::new(FailureKind::Busy, format!("{} is in use", self.path.display()))
            }
            errno => failed(errno),
        })?;
        let attributes = Attributes::of(&fstat(&file).map_err(failed)?);
        self.check(attributes.kind)?;
        peer.attach(file);
        Ok(attributes)
    }
}

impl Open {
    fn check(&self, kind: Kind) -> Result<(), Failure> {
        match kind {
            Kind::File => Ok(()),
            kind => Err(Failure::invalid(&self.path, kind.described())),
        }
    }
}
