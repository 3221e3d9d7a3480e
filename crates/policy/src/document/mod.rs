//! A policy as it is written: JSON with comments.

mod amount;
mod limits;
mod network;
mod parse;
mod policy;
mod schema;

pub use amount::{Cpus, InvalidAmount, Size, Span};
pub use limits::Limits;
pub use network::Network;
pub use parse::{InvalidPolicy, parse};
pub use policy::{Env, Extend, Files, Policy};
pub use schema::json_schema;
