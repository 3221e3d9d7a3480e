//! WebSockets to execs: the extension `attach`.
//!
//! A `SocketConnector` opens an `ExecSocket` where WebSockets get through. A task owns the host's socket: it sends what is
//! to be sent, and hands the events that `message.rs` reads to a `SocketOutput`.

pub(crate) mod connector;
pub(crate) mod exec_socket;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod message;
