use std::{io, os::fd::OwnedFd, thread};

use rustix::process::{Resource, getrlimit, setrlimit};

use super::{
    failure::{Failure, FailureKind},
    operation::Operation,
    operations::Create,
    peer::Peer,
    protocol::Request,
    temporary::{self, Temporary},
    unfinished::finish,
};
use crate::sandbox::receive_descriptor;

/// What it is called in the list of processes.
const NAME: &std::ffi::CStr = c"sandpipe-worker";
/// The stack of a conversation's thread: nothing calls itself.
const STACK: usize = 256 * 1024;

/// Serves until the agent has nothing more for it. Standard input is the socket to that.
pub(crate) fn serve() {
    let _unnamed = nix::sys::prctl::set_name(NAME);
    // A tree takes a descriptor for each of its levels.
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _refused = setrlimit(Resource::Nofile, limit);
    loop {
        match receive_descriptor(rustix::stdio::stdin()) {
            Ok(socket) => begin(socket),
            Err(error) if error.kind() == io::ErrorKind::Other => {
                // One that there was no room for: who waits for an answer is told by its end.
            }
            Err(_) => break,
        }
    }
    finish();
    temporary::remove_all();
}

/// Serves a conversation on a thread of its own.
fn begin(socket: OwnedFd) {
    // Where there is no thread it is answered with that.
    let refused = socket.try_clone();
    let thread = thread::Builder::new().name("operation".into()).stack_size(STACK);
    if let Err(error) = thread.spawn(move || converse(Peer::new(socket)))
        && let Ok(socket) = refused
    {
        let message = format!("the system has no room for a thread: {error}");
        let failure = Failure::new(FailureKind::Busy, message);
        let _gone = Peer::new(socket).send(&Err::<(), _>(failure));
    }
}

fn converse(mut peer: Peer) {
    // Whoever asked may be gone.
    let Ok(request) = peer.next() else { return };
    let _gone = match request {
        Request::Append(operation) => answer(operation, &mut peer),
        Request::Commit(operation) => answer(operation, &mut peer),
        Request::Copy(operation) => answer(operation, &mut peer),
        Request::Create(operation) => create(operation, &mut peer),
        Request::Discard(operation) => answer(operation, &mut peer),
        Request::MakeDirectory(operation) => answer(operation, &mut peer),
        Request::Move(operation) => answer(operation, &mut peer),
        Request::Open(operation) => answer(operation, &mut peer),
        Request::RemoveDirectory(operation) => answer(operation, &mut peer),
        Request::RemoveFile(operation) => answer(operation, &mut peer),
        Request::Stat(operation) => answer(operation, &mut peer),
        Request::Connect(operation) => answer(operation, &mut peer),
        Request::FindOwners(operation) => answer(operation, &mut peer),
        Request::ListPorts(operation) => answer(operation, &mut peer),
        Request::WatchPorts(operation) => answer(operation, &mut peer),
        Request::Unpack(operation) => answer(operation, &mut peer),
        Request::Watch(operation) => answer(operation, &mut peer),
        // These have more to say than an answer.
        Request::List(operation) => converse_with(operation, &mut peer),
        Request::Pack(operation) => converse_with(operation, &mut peer),
    };
}

fn answer<O: Operation>(operation: O, peer: &mut Peer) -> io::Result<()> {
    let answer = operation.run(peer);
    if answer.is_err() {
        peer.detach();
    }
    peer.send(&answer)
}

/// The same, where nobody else removes what it has made if its answer is not taken.
fn create(operation: Create, peer: &mut Peer) -> io::Result<()> {
    let answer = operation.run(peer);
    if answer.is_err() {
        peer.detach();
    }
    peer.send(&answer).inspect_err(|_| {
        if let Ok(Temporary { path, is_named: true }) = &answer {
            let _gone = temporary::remove(path);
        }
    })
}

/// The same for what sends its answers itself: only a failure is left to tell.
fn converse_with<O: Operation>(operation: O, peer: &mut Peer) -> io::Result<()> {
    operation.run(peer).map_or_else(|failure| peer.send(&Err::<(), _>(failure)), |_| Ok(()))
}
