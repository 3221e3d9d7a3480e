//! The core of Sandpipe for JavaScript: the client of `crates/client`, compiled to WebAssembly.
//!
//! Each noun has a file with what JS can call of it: it reads the arguments (`options.rs`, `arguments.rs`), has the
//! client carry out the call, and makes a value of JS of what comes of it (`results.rs`, `errors.rs`). [`web`] is what the
//! client needs of the platform.

// An error travels in a box from where it is made: what hands it on is smaller for it.
#![allow(clippy::unnecessary_box_returns)]

mod arguments;
mod background;
mod background_options;
mod batches;
mod errors;
mod execs;
mod options;
mod promise;
mod results;
mod sandbox;
mod sessions;
mod terminal;
mod web;

pub use background::Background;
pub use batches::Batches;
pub use errors::make_errors_with;
pub use execs::Execs;
pub use promise::settle_with;
pub use sandbox::Sandbox;
pub use sessions::{Session, Sessions};
pub use terminal::Terminal;
pub use web::events::make_events_with;
