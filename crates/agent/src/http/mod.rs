//! The HTTP interface: a handler for each path, made with axum.
//!
//! [`router`] puts it together. A request passes the check of its host (`host.rs`), then CORS, a WebSocket the check of its origin (`origin.rs`), then the
//! check of its token (`auth.rs`) by what its route needs (`needs.rs`), before its handler gets it; the handlers of execs are in `execs/`, those of files in `files/`, one operation a file. They share an [`App`]. What is wrong with a
//! request is an `ApiError`, whose body is JSON; `body.rs` reads bodies with a bound, and `event_stream.rs` answers
//! with a stream, in the form that `output_format.rs` finds to be asked for: Server-Sent Events or binary frames.

mod auth;
mod body;
mod console;
mod cors;
mod error;
mod event_stream;
mod execs;
mod files;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod health;
mod host;
mod needs;
mod openapi;
mod origin;
mod output_format;
mod policy;
mod ports;
mod router;
mod tokens;
mod until_ended;

use std::{sync::Arc, time::Duration};

use axum::http::HeaderValue;
use tokio::sync::watch;

use crate::{
    execs::Registry,
    features::Features,
    files::{Files, Uploads},
    ports::Ports,
    token::Tokens,
    tokens::ScopedTokens,
    walls::Policies,
};

pub use console::Console;
pub(crate) use host::HostPolicy;
pub(crate) use router::router;

/// What the handlers share.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) registry: Arc<Registry>,
    pub(crate) files: Arc<Files>,
    pub(crate) ports: Ports,
    pub(crate) uploads: Arc<Uploads>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) features: Arc<Features>,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) scoped_tokens: Arc<ScopedTokens>,
    pub(crate) hosts: Arc<HostPolicy>,
    /// The web origins that may use the agent.
    pub(crate) allow_origin: Vec<HeaderValue>,
    /// How long a stream may be silent.
    pub(crate) ping_interval: Duration,
    /// Becomes true when streams that have no end of their own are to end.
    pub(crate) over: watch::Receiver<bool>,
}
