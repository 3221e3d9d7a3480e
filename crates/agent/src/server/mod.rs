//! Connections: how they are taken, counted, and how they end.

mod connection;
mod exchange;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod refusal;
mod serve;

pub(crate) use connection::Connections;
pub(crate) use serve::serve;
