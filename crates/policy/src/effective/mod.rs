//! The policy that holds: what presets and a policy say together.

mod contents;
mod environment;
mod merge;
mod narrower;
mod preset;

pub use environment::Passing;
pub use merge::{Effective, NotExtended, effective};
pub use narrower::{Narrowable, Wider};
pub use preset::{Preset, UnknownPreset};
