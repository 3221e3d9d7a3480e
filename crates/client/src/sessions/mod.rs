//! Sessions: shells that remember.
//!
//! [`Sessions`] starts one as an exec and gives a [`Session`], whose runs go to its shell one after
//! the other. `script.rs` says what the shell is given, `markers.rs` what it prints; `send_queue.rs` and `fifo_lock.rs`
//! decide what comes after what; `run.rs`, `interrupt.rs` and `close.rs` carry out.

mod close;
mod create;
mod fifo_lock;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod interrupt;
mod markers;
mod run;
mod run_end;
mod run_output;
mod run_result;
mod script;
mod send_queue;
mod session;

pub use create::SessionOptions;
pub use session::{Session, Sessions};
