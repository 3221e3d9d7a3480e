//! The walls of a box: how bubblewrap and the kernel hold what a policy says.

mod late_mounts;
mod limits;
mod mount_check;
mod mounts;
mod plan;
mod scope;
mod seccomp;
mod sockets;
mod visible_mounts;

use late_mounts::LateMounts;
pub use limits::{Held, Holders, Mechanism, RLimit, Unheld, hold};
pub use mount_check::{ADMIN_TOKEN, Fault, Guard, Guarded, MountCheck};
pub use mounts::{Mount, mounts};
pub use plan::{Box, Content, PLACES, PROXY_PORT, Plan, PlanError, Replacement, plan};
pub use scope::keep_from_sockets_and_pipes;
pub use seccomp::{Refused, SeccompError, keep_from_clone3, keep_from_openat2, seccomp_program};
pub use sockets::{BoundSocket, answered_sockets, listed_sockets, request_sockets};
pub use visible_mounts::writable_places;
