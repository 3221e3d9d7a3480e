//! The core of Sandpipe for JavaScript: the client of `crates/client`, compiled to WebAssembly.
//!
//! Each noun has a file with what JS can call of it: it reads the arguments (`options.rs`, `fields.rs`, `arguments.rs`), has
//! the client carry out the call, and makes a value of JS of what comes of it (`results.rs`, `events.rs`, `errors.rs`).
//! [`callbacks`] are functions of the caller's; [`web`] is what the client needs of the platform.

// An error travels in a box from where it is made: what hands it on is smaller for it.
#![allow(clippy::unnecessary_box_returns)]

mod arguments;
mod background;
mod background_options;
mod batches;
mod callbacks;
mod errors;
mod events;
mod execs;
mod fields;
mod file_options;
mod files;
mod input;
mod invalid_argument;
mod live_list;
mod options;
mod ports;
mod promise;
mod results;
mod sandbox;
mod sessions;
mod shim;
mod terminal;
mod tokens;
mod trees;
mod web;

pub use background::Background;
pub use batches::Batches;
pub use execs::Execs;
pub use files::Files;
pub use ports::Ports;
pub use sandbox::Sandbox;
pub use sessions::{Session, Sessions};
pub use shim::{Shim, use_shim};
pub use terminal::Terminal;
pub use tokens::Tokens;
