use crate::network::Destination;

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Read more.
    Read,
    /// Send this, and ask again.
    Reply(Vec<u8>),
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
    pub(super) protocol: Protocol,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Socks,
    /// HTTP's CONNECT.
    Tunnel,
    /// A request of HTTP, which is passed on.
    Http,
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
