use std::io;

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{
    ports::{Listener, Owner, Owners, listeners},
    worker::{
        failure::{Failure, FailureKind},
        operation::Operation,
        peer::Peer,
    },
};

/// How often it is looked whether something listens that did not.
const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// Lists the sockets of the worker's network namespace that listen, with the processes that it may look into.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ListPorts;

/// The same until the conversation ends: an answer at once, and one whenever it has changed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WatchPorts;

/// Finds the processes that have these sockets, as far as it may look into them.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FindOwners {
    pub(crate) inodes: Vec<u64>,
}

impl Operation for ListPorts {
    type Answer = Vec<Listener>;

    fn run(self, _: &mut Peer) -> Result<Vec<Listener>, Failure> {
        list(&mut Owners::default())
    }
}

impl Operation for WatchPorts {
    type Answer = Vec<Listener>;

    fn run(self, peer: &mut Peer) -> Result<Vec<Listener>, Failure> {
        let mut owners = Owners::default();
        let mut told = None;
        loop {
            let found = list(&mut owners)?;
            if told.as_ref() != Some(&found) {
                if peer.send(&Ok::<_, Failure>(&found)).is_err() {
                    return Ok(Vec::new());
                }
                told = Some(found);
            }
            // It sends nothing after its request.
            match poll(&mut [PollFd::new(peer, PollFlags::IN)], Some(&INTERVAL)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(Vec::new()),
                Err(errno) => return Err(refused(&errno.into())),
            }
        }
    }
}

impl Operation for FindOwners {
    type Answer = Vec<Option<Owner>>;

    fn run(self, _: &mut Peer) -> Result<Vec<Option<Owner>>, Failure> {
        Ok(Owners::default().find(&self.inodes))
    }
}

fn list(owners: &mut Owners) -> Result<Vec<Listener>, Failure> {
    let mut found = listeners().map_err(|error| refused(&error))?;
    let inodes: Vec<u64> = found.iter().map(|listener| listener.inode).collect();
    for (listener, owner) in found.iter_mut().zip(owners.find(&inodes)) {
        listener.owner = owner;
    }
    Ok(found)
}

fn refused(error: &io::Error) -> Failure {
    let message = format!("the system does not tell which ports are listened on: {error}");
    Failure::new(FailureKind::System, message)
}
