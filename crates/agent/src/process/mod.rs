//! Processes: what one is started with, as which user, and how its pipes are read.
//!
//! A [`Launch`] is a request that was checked, with what it leaves open taken from the [`SpawnDefaults`]. [`spawn`] has the box
//! (`sandbox/`) make a [`Process`] of it. [`OutputPipes`] reads what it writes, in the order in which it arrives.

mod command_limits;
mod end_of_input;
mod exec_limits;
mod exit;
mod gathering;
mod launch;
mod limits;
mod memory;
mod output_pipes;
mod source;
mod spawn;
mod stdio;
mod user;
mod waker;

pub(crate) use command_limits::{CommandLimits, ReachedLimit};
pub(crate) use end_of_input::EndOfInput;
pub(crate) use exec_limits::ExecLimits;
pub(crate) use launch::{InvalidLaunch, Launch, SpawnDefaults};
pub(crate) use limits::{DescriptorPermit, FileLimit};
pub(crate) use memory::{Memory, open_statm};
pub(crate) use output_pipes::{OutputPipes, PipeChunk};
pub(crate) use spawn::{Process, SpawnError, Spawned, spawn};
pub(crate) use stdio::PtyMaster;
pub(crate) use user::{Identity, UserError};
pub(crate) use waker::Waker;
