//! Connections: how they are taken, counted, and how they end.

mod connection;
mod exchange;
mod refusal;
mod serve;

pub(crate) use connection::Connections;
pub(crate) use serve::serve;
