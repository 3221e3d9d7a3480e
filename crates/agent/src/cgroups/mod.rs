//! Cgroups of the unified hierarchy (cgroups(7), version 2): a command that is started in one of its own is killed with all that it has
//! started, however that forks. It needs no controller, but Linux 5.14.
//!
//! The agent makes them, outside of all walls, and a box gets the descriptor of each: it starts the command's process in it. They lie in
//! a cgroup that the agent owns, right below the one that it is in ([`OwnedCgroup`]): those of commands without limits in [`Leaves`],
//! those with limits in those of `crate::limits`.

mod cgroup;
mod fork;
mod leaves;
mod owned;

pub(crate) use cgroup::{is_populated, kill, own, processes, remove};
pub(crate) use fork::fork_into;
pub(crate) use leaves::{Leaf, Leaves};
pub(crate) use owned::OwnedCgroup;
