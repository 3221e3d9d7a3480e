//! Policies, as the agent holds them: what it is started with, the walls around its box, and the way out of them.
//!
//! `options.rs` makes a policy of flags and files, `policy.rs` what follows from it on this machine, `policies.rs` has the agent's and those that
//! creates name, and `build.rs` has bubblewrap started
//! around a box. Where only some hosts may be reached, `relay.rs` connects commands to them: the box listens on the loopback
//! of its own network (`inside.rs`), and hands the agent what it listens with. `command.rs` is `sandpipe-agent policy`. The rules themselves are in
//! the crate `sandpipe-policy`.

mod build;
mod command;
mod environment;
mod held_place;
mod inside;
mod lookup;
mod options;
mod policies;
mod policy;
mod relay;
mod running_program;
mod same_places;

pub(crate) use build::{Walls, WallsGone, start};
pub use command::{is_policy_command, run_policy_command};
pub(crate) use inside::{begin_box, confine_command, confine_worker, prepare_box};
pub use options::PolicyOptions;
pub(crate) use policies::{CommandSetting, NarrowerError, Policies};
pub use policy::PolicyError;
pub(crate) use policy::{AgentPolicy, Setting};
