//! The walls of a box: how bubblewrap and the kernel hold what a policy says.

mod limits;
mod mounts;
mod plan;
mod seccomp;

pub use limits::{Held, Holders, Mechanism, RLimit, Unheld, hold};
pub use mounts::{Mount, mounts};
pub use plan::{Box, Content, Inherited, PROXY_PORT, Plan, PlanError, plan};
pub use seccomp::{SeccompError, seccomp_program};
