//! The core of Sandpipe: the whole client of the agent's HTTP interface, compiled to WebAssembly.
//!
//! `exec()` in TypeScript → [`execs`] builds the request → [`transport`] carries it out and hands
//! over bytes → [`execs::follow`] says what they mean → the caller. What is decided is decided in
//! plain Rust, which is tested natively; the files that call into JS carry it out.

// An error travels in a box from where it is made: what hands it on is smaller for it.
#![allow(clippy::unnecessary_box_returns)]

mod abort;
mod answer;
mod arguments;
mod background;
mod batches;
mod closing;
mod errors;
mod execs;
mod features;
mod fetch_error;
mod js_string;
mod promise;
mod request;
mod retry;
mod sandbox;
mod sessions;
mod sleep;
mod socket;
mod terminal;
mod transport;
mod value;

/// What reads bytes that came from elsewhere, for the fuzz targets.
#[cfg(feature = "fuzz")]
pub mod fuzz {
    pub use crate::background::fuzz::*;
    pub use crate::execs::fuzz::*;
    pub use crate::request::fuzz::*;
    pub use crate::sessions::fuzz::*;
    pub use crate::terminal::fuzz::*;
}

pub use background::Background;
pub use batches::Batches;
pub use execs::{Execs, make_events_with};
pub use sandbox::Sandbox;
pub use sessions::{Session, Sessions};
pub use terminal::Terminal;
