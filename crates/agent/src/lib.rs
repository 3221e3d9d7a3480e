//! The native agent of Sandpipe: runs commands beside an HTTP interface.
//!
//! The interface is the `OpenAPI` document that it serves at `/openapi.json`. [`run`] is the whole
//! program; [`Agent::app`] is its interface without a socket.

mod agent;
mod blocking;
mod descriptors;
mod execs;
mod features;
mod health_check;
mod http;
mod options;
mod output;
mod owned_path;
mod process;
mod server;
mod shutdown;
mod state_dir;
mod token;

/// What reads bytes that came from elsewhere, for the fuzz targets.
#[cfg(feature = "fuzz")]
pub mod fuzz {
    pub use crate::execs::fuzz::*;
    pub use crate::http::fuzz::*;
    pub use crate::output::fuzz::*;
}

pub use agent::{Agent, AgentError, run};
pub use features::{Feature, Without};
pub use health_check::{HealthCheckError, check_health};
pub use http::Console;
pub use options::Options;
pub use output::SpoolLimit;
pub use owned_path::{OpenToOthers, OpenWay};
pub use process::{guard, is_guardian};
pub use state_dir::StateDirError;
pub use token::TokenError;
