//! Processes: how one is started, as which user, in which group, how its pipes are read, and how it is reaped.
//!
//! A [`Launch`] is a request that was checked, with what it leaves open taken from the [`SpawnDefaults`]. [`spawn`] makes a [`Process`] of it:
//! between fork and exec a `Child` becomes what the `Launch` says, by system calls alone. A process leads a [`Group`], which is what
//! signals are sent to; with a terminal, that is its whole session. [`OutputPipes`] reads what it writes, in the order in which it
//! arrives. The [`Reaper`] waits for every child of the agent, and sends each exit code to whoever started the process.
//!
//! The agent may be killed itself: then the guardian (`guardian/`) kills what it leaves behind.

mod child;
mod child_table;
mod end_of_input;
mod exit;
mod gathering;
mod group;
mod guardian;
mod launch;
mod limits;
mod memory;
mod output_pipes;
mod program;
mod reaper;
mod session;
mod source;
mod spawn;
mod stdio;
mod user;
mod wait;
mod waker;

pub(crate) use end_of_input::EndOfInput;
pub(crate) use group::{Group, Reached, stops};
pub use guardian::{guard, is_guardian};
pub(crate) use launch::{InvalidLaunch, Launch, SpawnDefaults};
pub(crate) use limits::{DescriptorPermit, FileLimit};
pub(crate) use memory::{Memory, open_statm};
pub(crate) use output_pipes::{OutputPipes, PipeChunk};
pub(crate) use reaper::Reaper;
#[cfg(test)]
pub(crate) use session::open_processes;
pub(crate) use spawn::{Process, SpawnError, Spawned, spawn};
pub(crate) use stdio::PtyMaster;
pub(crate) use user::Identity;
pub(crate) use waker::Waker;
