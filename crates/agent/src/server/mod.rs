//! Connections: how they are accepted and counted, and how they end.
//!
//! [`serve`] takes connections from the socket that [`listen`] or [`listen_at_path`] opens, or from a [`Carrier`], and has hyper speak HTTP over each. A
//! [`Connection`](connection::Connection) is the stream of bytes beneath that: it notes in its
//! [`ConnectionState`](state::ConnectionState) how far it is, and ends where its client keeps it waiting for too long.
//! [`Progress`](progress::Progress) decides how long that is, [`ConnectionLimits`](places::ConnectionLimits) which connection has to
//! go when there are too many; neither does any I/O. [`Connections`] has the states of all. A handler finds the [`Peer`] of its
//! request in the request's extensions.

mod carrier;
mod connection;
mod connections;
mod listen;
mod peer;
mod places;
mod progress;
mod queued;
mod serve;
mod silence;
mod state;
mod stream;

pub(crate) use carrier::{Carrier, listen_on_stdio};
pub(crate) use connections::Connections;
pub(crate) use listen::{Listener, listen, listen_at_path};
pub(crate) use peer::Peer;
pub(crate) use serve::serve;
