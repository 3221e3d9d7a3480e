//! The whole client of a Sandpipe agent, without I/O of its own.
//!
//! The embedder gives a [`Host`]: one trait that sends a request and gives a body to be read chunk by chunk,
//! opens a WebSocket, sleeps, tells the time, gives random bytes, spawns a task and keeps long texts. In a browser, in
//! Node.js and in edge workers the host is the binding of the npm package; in tests it is a simulation.
//!
//! An [`Agent`] is what all calls begin with: its HTTP client makes the requests, and it knows which extensions the
//! agent offers. The calls are functions and methods by noun: [`execs`], [`terminal`], [`sessions`],
//! [`background`], [`files`], [`ports`] and [`tokens`];
//! each gives a [`Call`], a future that needs nothing else to be kept.
//!
//! Data goes one way. [`execs::exec`] creates an exec by a request; the answer's body goes to an
//! [`execs::OutputReader`], which hands its bytes to the state machines of [`output`]; these give each event once, in
//! order, to an [`output::OutputSink`], or say when to connect again.
//!
//! Why a call failed is an [`Error`]; that it is to end is said by an [`AbortSignal`]. A value of the host's that the
//! client can't look into, such as what a caller's function threw, is a [`HostValue`].
//!
//! Everything runs on one thread; nothing is `Send`.

// An error travels in a box from where it is made: what hands it on is smaller for it.
#![allow(clippy::unnecessary_box_returns)]
// All that fails does so by an `Error`; where it matters which, the function says so.
#![allow(clippy::missing_errors_doc)]
// Futures say so themselves, and of what is read nothing is lost.
#![allow(clippy::must_use_candidate, clippy::return_self_not_must_use)]

mod abort;
mod agent;
pub mod background;
pub mod error;
mod exec_id;
pub mod execs;
pub mod files;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod host;
mod host_value;
pub mod http;
mod nonce;
mod operation;
pub mod output;
pub mod ports;
pub mod sessions;
mod shell;
pub mod terminal;
pub mod tokens;
mod wait_limits;
mod websocket;

use futures_util::future::LocalBoxFuture;

pub use abort::{AbortController, AbortSignal, Subscription};
pub use agent::Agent;
pub(crate) use agent::Feature;
pub use error::{Error, Result};
pub use exec_id::ExecId;
pub use host::Host;
pub use host_value::{HostOutput, HostValue};
pub use operation::Operation;
pub use wait_limits::WaitLimits;

pub(crate) use nonce::Nonce;

/// A call that is under way. In a box: its code is here, once. That of an `async fn` is compiled anew into every crate
/// that awaits it, with all that it awaits.
pub type Call<T> = LocalBoxFuture<'static, Result<T>>;
