//! WebSockets to execs: the extension `attach`.

pub(crate) mod connection;
pub(crate) mod exec_socket;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod message;
