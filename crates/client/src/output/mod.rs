//! The output of an exec: what its bytes mean, when it is connected to again, and where it goes.
//!
//! A [`Decoder`] takes the bytes of one connection apart, Server-Sent Events or binary frames; a [`Follower`] gives each event once,
//! in order, to an [`OutputSink`], over all connections; [`Resume`] says what to do when a connection ends; a [`Transcript`] is the
//! sink that keeps the output. An [`OutputSearch`] looks for a text in it.

mod buffer;
mod decoder;
mod event;
mod fault;
mod follower;
mod last_output;
mod resume;
mod runs;
mod search;
mod sink;
mod transcript;

pub use buffer::{Encoding, OutputBuffer};
pub(crate) use decoder::{Decoder, Message};
pub(crate) use event::event_of;
pub use event::{Event, EventOutput};
pub(crate) use fault::OutputFault;
pub(crate) use follower::Follower;
pub(crate) use last_output::LastOutput;
pub(crate) use resume::{NextStep, Resume, StreamEnd, exit_code_of};
use runs::Runs;
pub(crate) use search::{FoundText, OutputSearch};
pub use search::{Match, MatchValue, Pattern, TextMatcher};
pub use sink::{Discard, OutputSink};
pub use transcript::ExecResult;
pub(crate) use transcript::Transcript;
