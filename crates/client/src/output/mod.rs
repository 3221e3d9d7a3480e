//! The output of an exec: what its bytes mean, when it is connected to again, and where it goes.
//!
//! [`follower::Follower`] takes the bytes of one connection and gives each event once, in order, to an
//! [`sink::OutputSink`]; [`resume::Resume`] says what to do when a connection ends; a
//! [`transcript::Transcript`] is the sink that keeps the text.

pub mod follower;
pub(crate) mod resume;
pub mod sink;
pub mod transcript;
