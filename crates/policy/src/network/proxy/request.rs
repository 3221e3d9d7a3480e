use crate::network::Destination;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read more.
    Read,
    /// Connect it, if it may be.
    Connect(Request),
    /// Send this, and close.
    Close(Vec<u8>),
}

/// What a program asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it wants to reach.
    pub destination: Destination,
    /// What is to be sent there first.
    pub first: Vec<u8>,
    /// True for a CONNECT, false for a request that is passed on.
    pub(super) is_tunnel: bool,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome<'a> {
    /// It is connected.
    Connected,
    /// It may not be, for this reason.
    Refused(&'a str),
    /// It could not be, for this reason.
    Failed(&'a str),
}
