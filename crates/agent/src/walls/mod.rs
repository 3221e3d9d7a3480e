//! Policies, as the agent holds them: what it is started with, the walls around its box, and the way out of them.
//!
//! `options.rs` makes a policy of flags and files, `policy.rs` what follows from it on this machine, `policies.rs` has the agent's and those that
//! creates name, and `build.rs` has bubblewrap started
//! around a box. Where only some hosts may be reached, `relay.rs` connects commands to them: by
//! sockets on the loopback of the box's own network. `mount_watch.rs` sees to it that what is
//! mounted stays so. A process that can mount and listen in the namespaces of the box does both
//! (`mount_helper.rs`); `socket_files.rs` finds the sockets of other programs, and `state_directories.rs` what other agents keep: both are
//! hidden.
//! `command.rs` is `sandpipe-agent policy`. The rules themselves are in the crate `sandpipe-policy`.

mod build;
mod command;
mod copied_files;
mod directory_watch;
mod environment;
mod held_place;
mod inside;
mod left_open;
mod lookup;
mod mount_helper;
mod mount_watch;
mod options;
mod policies;
mod policy;
mod refusal_log;
mod relay;
mod same_places;
mod socket_files;
mod state_directories;
mod stores;
mod tool_settings;

pub(crate) use build::{Walls, WallsGone, start};
pub use command::{is_policy_command, run_policy_command};
pub(crate) use inside::{begin_box, confine_command, confine_worker, prepare_box};
pub(crate) use mount_helper::MountHelper;
pub use mount_helper::{is_mount_helper, run_mount_helper};
pub(crate) use mount_watch::MountWatch;
pub use options::PolicyOptions;
pub(crate) use policies::{CommandSetting, NarrowerError, Policies};
pub use policy::PolicyError;
pub(crate) use policy::{AgentPolicy, Setting};
pub(crate) use tool_settings::{MadeSetting, ToolSettings};
