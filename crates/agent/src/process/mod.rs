//! Processes: how one is started, as whom, in which group, how it is reaped, and how its pipes are
//! read.

mod child;
mod end_of_input;
mod exit;
mod exit_code;
mod group;
mod guardian;
mod launch;
mod limits;
mod memory;
mod output_pipes;
mod program;
mod readiness;
mod reaper;
mod session;
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
pub(crate) use readiness::watch;
pub(crate) use reaper::Reaper;
#[cfg(test)]
pub(crate) use session::open_processes;
pub(crate) use spawn::{Process, SpawnError, Spawned, spawn};
pub(crate) use stdio::PtyMaster;
pub(crate) use user::Identity;
pub(crate) use waker::Waker;
