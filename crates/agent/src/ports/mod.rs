//! TCP ports of the box's network namespace: which are listened on, and connections to them.
//!
//! In a worker (`worker/operations/`), `table.rs` reads which sockets listen and `owners.rs` looks for the processes that have them. In the
//! agent, [`Ports`] asks workers for that, and the box for the exec that a process belongs to; of a process of another user a worker
//! of that user is asked, since nobody else may look into it.

mod list;
mod owners;
mod stream;
mod table;

pub(crate) use list::{ConnectError, Ports};
pub(crate) use owners::{Owner, Owners, socket_inode};
pub(crate) use stream::PortsStream;
pub(crate) use table::{Listener, listeners};
