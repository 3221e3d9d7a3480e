//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target.
//!
//! One operation a file: what it takes, its script, what the answer means. [`background::Background`] is their
//! client; a [`runtime::Runtime`] of the caller's runs the scripts, which are in `sh/`.

mod answer;
#[allow(clippy::module_inception)]
pub mod background;
mod duration;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod lines;
mod list;
pub mod location;
pub mod process;
pub mod read_options;
pub mod read_output;
mod remove;
pub mod run;
pub mod runtime;
mod script;
pub mod spawn;
mod target;
mod terminate;
pub mod wait;
