//! Which files commands read and write: rules for paths, and the places in the file system that they mean.

mod at_path;
mod expand;
mod git_index;
mod git_layout;
mod invalid_places;
mod pattern;
mod place;
mod placeholder;
mod repositories;
mod resolve;
mod rule;
mod search;

pub use expand::{Roots, expand};
#[cfg(feature = "fuzz")]
pub use git_index::read_git_index;
pub use invalid_places::InvalidPlaces;
pub use pattern::{InvalidPath, PathPattern};
pub use place::{Place, Places};
pub use placeholder::Placeholder;
pub use rule::{Access, FileRule, IfMissing, Kind, Origin};
