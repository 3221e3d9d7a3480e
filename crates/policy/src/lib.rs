//! What a command may touch: policies, their rules, and the walls that hold them.
//!
//! A [`document::Policy`] is what somebody wrote, read by [`document::parse`]. Together with the presets that it extends it is an
//! [`effective::Effective`] policy, whose rules for files [`files::expand`] turns into [`files::Places`] as the file system is when a box
//! starts. Of both [`walls::plan`] makes the command line of bubblewrap that walls a box in. What a rule decides, [`explain`] tells.
//!
//! All decisions are pure. What looks at the machine is [`files::expand`] and [`machine`].

pub mod document;
pub mod effective;
pub mod env;
pub mod explain;
pub mod files;
pub mod machine;
mod mountinfo;
pub mod network;
mod program;
mod tokens;
pub mod walls;
pub mod wildcard;

pub use program::{Program, RUNNING_PROGRAM};
