//! The walls of a box: how bubblewrap and the kernel hold what a policy says.

mod limits;
mod mounts;
mod plan;
mod scope;
mod seccomp;

pub use limits::{Held, Holders, Mechanism, RLimit, Unheld, hold};
pub use mounts::{Mount, mounts};
pub use plan::{Box, Content, PLACES, PROXY_PORT, Plan, PlanError, plan};
pub use scope::keep_from_abstract_sockets;
pub use seccomp::{SeccompError, keep_from_clone3, seccomp_program};
