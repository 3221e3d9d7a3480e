//! The native agent of Sandpipe: it runs commands on the machine that it is on, and is used over HTTP.
//!
//! [`run`] is the whole program; [`Agent::app`] is its interface without a socket, which is the `OpenAPI` document that it serves at
//! `/openapi.json`. Beneath that there is a folder for each concern:
//!
//! - `server/` accepts connections, limits how many there are, and closes those that keep the agent waiting.
//! - `http/` has a handler for each path: it reads the request, and writes what `execs/` returns.
//! - `execs/` has an `Exec` for each command that was asked for, and the `Registry` of all of them, which outlives the agent on
//!   disk.
//! - `files/` reads and writes files for clients.
//! - `process/` says what a process is started with, and reads its pipes.
//! - `walls/` holds what a policy says: it has the box walled in, and connects it to the hosts that it may reach.
//! - `limits/` holds what all commands together may use, by cgroups.
//! - `sandbox/` is the box: a process of its own that starts all others, signals their groups and reaps them.
//! - `worker/` is what opens files for clients: processes that the box starts, with the rights of a command.
//! - `tokens/` has the scoped tokens, and decides what a request may do.
//! - `watch/` tells what changes in a directory, and `ports/` which ports are listened on: workers look, for both.
//! - `output/` decodes what a process writes, numbers it, keeps it in a `Spool` on disk, and reads it from there.
//!
//! A command goes through them so: `POST /api/v1/execs` makes an `Exec` of the request (`Registry::create`) and starts it on a thread of
//! its own (`process::spawn`). That thread then reads the process's pipes (`OutputPipes`), hands the bytes to a `Collector`, which
//! appends events to the exec's `Spool`, and ends the exec with the exit code that the box has for it. Whoever asks for the output,
//! at whatever time, has a `Reader` of the spool, which follows it to its end. So a slow client holds up neither the process nor
//! another client.

mod abandoned;
mod agent;
mod blocking;
mod cgroups;
mod descriptors;
mod execs;
mod features;
mod files;
mod find_program;
mod health_check;
mod http;
mod ignore_patterns;
mod limits;
#[cfg(test)]
#[path = "../../policy/tests/support/needs.rs"]
mod needs;
mod options;
mod output;
mod owned_path;
mod ports;
mod process;
mod sandbox;
mod server;
mod shown;
mod shutdown;
mod state_dir;
mod time_limits;
mod token;
mod tokens;
mod walls;
mod watch;
mod worker;

/// What reads bytes that came from elsewhere, for the fuzz targets.
#[cfg(feature = "fuzz")]
pub mod fuzz {
    pub use crate::execs::fuzz::*;
    pub use crate::files::fuzz::*;
    pub use crate::http::fuzz::*;
    pub use crate::output::fuzz::*;
    pub use crate::sandbox::fuzz::*;
    pub use crate::worker::fuzz::*;
}

pub use agent::{Agent, run, runtime};
pub use features::{Feature, Without};
pub use health_check::check_health;
pub use http::Console;
pub use options::Options;
pub use output::SpoolLimit;
pub use sandbox::{is_box, run_box};
pub use shown::shown;
pub use time_limits::{InvalidTimeLimit, TimeLimit};
pub use token::await_stdin;
pub use walls::{
    PolicyError, PolicyOptions, is_mount_helper, is_policy_command, run_mount_helper,
    run_policy_command,
};
