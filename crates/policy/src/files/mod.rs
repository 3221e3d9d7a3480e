//! Which files commands read and write: rules for paths, and the places in the file system that they mean.

mod at_path;
mod expand;
mod git_index;
mod git_layout;
mod git_settings;
mod invalid_places;
mod other_mounts;
mod pattern;
mod place;
mod placeholder;
mod repositories;
mod resolve;
mod roots;
mod rule;
mod search;
mod surrounding_repository;
mod tool_settings;

pub use expand::expand;
#[cfg(feature = "fuzz")]
pub use git_index::read_git_index;
pub use invalid_places::InvalidPlaces;
pub use pattern::{InvalidPath, PathPattern};
pub use place::{Place, Places};
pub use placeholder::Placeholder;
pub use roots::Roots;
pub use rule::{Access, FileRule, IfMissing, Kind, Origin};
pub use tool_settings::{TOOL_SETTINGS, ToolSetting};
