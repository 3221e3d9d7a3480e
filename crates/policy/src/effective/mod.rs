//! The policy that holds: what presets and a policy say together.

mod contents;
mod environment;
mod merge;
mod narrower;
mod preset;
mod secret_files;
mod summary;

pub use environment::Passing;
pub use merge::{Effective, NotExtended, effective};
pub use narrower::{CGROUPS, Narrowable, Wider};
pub use preset::{Preset, UnknownPreset};
pub use secret_files::secret_files;
pub use summary::Summary;
