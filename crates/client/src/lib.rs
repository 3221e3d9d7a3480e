//! The whole client of a Sandpipe agent, without I/O of its own.
//!
//! What the client needs of its surroundings is one trait, [`host::Host`]: it sends a request and gives a body
//! that is read chunk by chunk, opens a WebSocket, sleeps, tells the time, gives random bytes, spawns a task and
//! keeps long texts. In a browser, in Node.js and in edge workers the host is the binding of the npm package;
//! in tests it is a simulation.
//!
//! What the host hands in and gets back, and what the client can't look into, is a [`host_value::HostValue`]: a
//! value that a caller's function threw, the reason of an abort. Why a call failed is an [`error::Error`]; that a call is to end is said by an
//! [`abort::AbortSignal`].
//!
//! Everything runs on one thread; nothing is `Send`.

// An error travels in a box from where it is made: what hands it on is smaller for it.
#![allow(clippy::unnecessary_box_returns)]
// All that fails does so by an `Error`; where it matters which, the function says so.
#![allow(clippy::missing_errors_doc)]
// Futures say so themselves, and of what is read nothing is lost.
#![allow(clippy::must_use_candidate, clippy::return_self_not_must_use)]

pub mod abort;
pub mod agent;
pub mod background;
pub mod call;
pub mod error;
pub mod execs;
pub mod features;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod host;
pub mod host_value;
pub mod http;
pub mod nonce;
pub mod operation;
pub mod output;
pub mod sessions;
pub mod shell;
pub mod terminal;
mod websocket;
