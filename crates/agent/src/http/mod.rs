//! The HTTP interface.

mod auth;
mod body;
mod console;
mod cors;
mod error;
mod event_stream;
mod execs;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod health;
mod host;
mod openapi;
mod router;

use std::sync::Arc;

use axum::http::HeaderValue;
use tokio::sync::watch;

use crate::{execs::Registry, features::Features, token::Tokens};

pub use console::Console;
pub(crate) use host::HostPolicy;
pub(crate) use router::router;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) registry: Arc<Registry>,
    pub(crate) features: Arc<Features>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) hosts: Arc<HostPolicy>,
    /// The web origins that may use the agent.
    pub(crate) allow_origin: Vec<HeaderValue>,
    /// Becomes true when streams that have no end of their own are to end.
    pub(crate) over: watch::Receiver<bool>,
}
