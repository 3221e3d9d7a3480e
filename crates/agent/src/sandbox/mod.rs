//! The box: one helper process that starts, signals and reaps all commands of the agent.
//!
//! ```text
//! sandpipe-agent            HTTP, tokens, spools, state; it starts no command itself
//!    └ sandpipe-agent box   single-threaded, no secrets; a child of the agent, or of what builds walls around it
//!        └ commands
//! ```
//!
//! `protocol.rs` is what the two say to each other (pure), `channel.rs` how it gets over their socket pair, with descriptors.
//! `client/` is the agent's side, `server/` the box's; `processes.rs` finds processes for both.
//!
//! **A start.** The agent makes the pipes and a pair of reply sockets, and sends a `Start` with the command's ends of the pipes and one
//! of the reply sockets. The box opens the terminal, if there is to be one, forks, and says the process id, with the terminal's
//! master. The child becomes the program; the reply socket closes with that, or carries why it could not. So the thread that
//! starts the command hears of it in one round trip, and a program that is slow to be executed holds up nothing: the box does not
//! wait for it. Nothing is shared with the child but what fork copies.
//!
//! **Workers.** A process may also be a worker (`worker/`), which opens files with the rights of a command: the same in all but what it
//! becomes. It has no exec.
//!
//! **An end.** The box alone reaps, so it alone knows which numbers are whose. It keeps a group for each command until no process of it
//! is left, says once how the leader ended (`Exited`, with whether a stop was sent before), and once that nobody is left (`Gone`).
//! Both name the command by a key of the agent's that is never used again.
//!
//! **A stop.** A command is started in a cgroup of its own where the agent can make some (`crate::cgroups`): a kill of that reaches all
//! that it has started, however that forks. Elsewhere it has a mark in its environment, and processes are looked for that have it, or
//! descend from one that has: those that take each other's place quickly enough may be missed.
//!
//! **Races.**
//! - Exit and start: the agent knows the key before it sends the `Start`, so no exit comes too early. That of a child that could not
//!   execute its program is passed over.
//! - Exit and signal: the box does one thing at a time. A signal is sent before the leader is reaped, or to a group in which somebody
//!   was seen to live, or to nobody.
//! - Numbers that are used again: the box looks at groups without a leader again and again, and forgets those that are empty. Single
//!   processes are signalled by a descriptor that was opened before it was looked whose they are.
//! - The agent dies: the socket closes, the box kills all that it has, and ends.
//! - The box dies: the socket closes, too. The agent, to which the box's children fall as the next subreaper, kills them, says of each
//!   command that its outcome is unknown, and starts another box for the next one. Starts that the dead box may have begun count as begun.
//! - Both die at once: each leader is killed by the kernel with the box (`PR_SET_PDEATHSIG`).

mod channel;
mod client;
mod environment;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod mark;
mod processes;
mod protocol;
mod server;

pub(crate) use channel::{receive, receive_descriptor, send, send_descriptor};
pub(crate) use client::{
    BoxClient, BoxCommand, Group, NotStarted, Started, detach, hold_reaping, reap_children,
};
pub(crate) use processes::{Process, all as all_processes, process, signal};
pub(crate) use protocol::{
    Credentials, Decoder, ExecKey, Failure, FileLimits, Program, Reached, StartRequest, Stdio,
    Step, encode, stops,
};
pub(crate) use server::ROLE;
pub use server::{is_box, run_box};
