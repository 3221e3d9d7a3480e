//! Ports of the agent's machine: which are listened on. One operation a file.

mod forward;
mod list;
mod port_stream;
mod wait_for;

pub use forward::forward_address;
pub use list::list;
pub use port_stream::PortStream;
pub use wait_for::{WaitForPortOptions, wait_for};
