//! Bytes and descriptors over a Unix socket (unix(7), `SCM_RIGHTS`).

use std::{
    collections::VecDeque,
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use rustix::{
    cmsg_space,
    io::Errno,
    net::{
        RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
        SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
    },
};

/// The most descriptors that come together.
const MAX_DESCRIPTORS: usize = 4;

/// Sends what the socket takes now, and the descriptors with the first byte; returns how many bytes that are.
///
/// # Errors
/// `EAGAIN` where it takes nothing now, `EPIPE` where nobody reads any more.
pub(crate) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> Result<usize, Errno> {
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::INVAL);
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    loop {
        match sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            sent => return sent,
        }
    }
}

/// Receives some bytes, and appends the descriptors that came with them; 0 at the end.
///
/// # Errors
/// Also where there was no room for a descriptor: it is lost.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut VecDeque<OwnedFd>,
    flags: RecvFlags,
) -> io::Result<usize> {
    let mut room = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    let flags = flags | RecvFlags::CMSG_CLOEXEC;
    let received = loop {
        match recvmsg(&socket, &mut [IoSliceMut::new(buffer)], &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            received => break received?,
        }
    };
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            descriptors.extend(received);
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::other("a descriptor was lost on its way"));
    }
    Ok(received.bytes)
}

/// Sends one descriptor, and a byte with it.
///
/// # Errors
/// Nobody takes it.
pub(crate) fn send_descriptor(
    socket: BorrowedFd<'_>,
    descriptor: BorrowedFd<'_>,
) -> io::Result<()> {
    match send(socket, &[0], &[descriptor]) {
        Ok(1) => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(errno) => Err(errno.into()),
    }
}

/// Receives what [`send_descriptor`] sends.
///
/// # Errors
/// Nothing comes.
pub(crate) fn receive_descriptor(socket: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut descriptors = VecDeque::new();
    receive(socket, &mut [0], &mut descriptors, RecvFlags::empty())?;
    descriptors.pop_front().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
