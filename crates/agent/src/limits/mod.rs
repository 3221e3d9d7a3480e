//! Limits on what all commands of a policy use together, by cgroups (cgroups(7), version 2).
//!
//! ```text
//! the agent's cgroup                 its controllers are enabled for those below it
//!    ├ sandpipe-agent-…              the agent and its boxes, where a cgroup with controllers below may have no process itself
//!    └ sandpipe-limits-…             locked as long as the agent is there: one that isn't is removed by the next agent
//!        └ policy-0                  the limits of the agent's policy
//!            ├ exec-0, exec-1, …     the processes of a command, which the limit on memory ends together
//!            └ policy-1              those of a narrower one, and its commands
//! ```
//!
//! The boxes are outside, so that no limit ends them: each command is started in its cgroup. `controllers.rs` is what can be said without a file system.

mod controllers;
mod group;
mod tree;

pub(crate) use controllers::needed;
pub(crate) use group::{ExecGroup, LimitGroup};
pub(crate) use tree::LimitTree;
