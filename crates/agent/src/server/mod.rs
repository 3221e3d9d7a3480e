//! Connections: how they are taken, counted, and how they end.
//!
//! [`ConnectionLimits`](places::ConnectionLimits) decides who gets a place, [`Progress`](progress::Progress) how long a
//! connection may keep the agent waiting; [`Connections`] and [`Connection`](connection::Connection)
//! carry that out.

mod connection;
mod connections;
mod listen;
mod peer;
mod places;
mod progress;
mod queued;
mod serve;
mod state;

pub(crate) use connections::Connections;
pub(crate) use listen::listen;
pub(crate) use peer::Peer;
pub(crate) use serve::serve;
