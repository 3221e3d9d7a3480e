//! The output of an exec: what its bytes mean, when it is connected to again, and where it goes.
//!
//! [`Follower`] takes the bytes of one connection and gives each event once, in order, to an [`OutputSink`]; [`Resume`]
//! says what to do when a connection ends; a [`Transcript`] is the sink that keeps the text.

mod follower;
mod resume;
mod sink;
mod transcript;

pub(crate) use follower::{Follower, OutputFault, write_event};
pub(crate) use resume::{NextStep, Resume, StreamEnd, exit_code_of};
pub use sink::{Discard, OutputSink};
pub use transcript::ExecResult;
pub(crate) use transcript::Transcript;
