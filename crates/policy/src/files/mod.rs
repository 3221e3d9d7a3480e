//! Which files commands read and write: rules for paths, and the places in the file system that they mean.

mod expand;
mod pattern;
mod place;
mod placeholder;
mod resolve;
mod rule;

pub use expand::{InvalidPlaces, Roots, expand};
pub use pattern::{InvalidPath, PathPattern};
pub use place::{Place, Places};
pub use placeholder::Placeholder;
pub use rule::{Access, FileRule, IfMissing, Kind, Origin};
