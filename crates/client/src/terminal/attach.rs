//! Attaching to an exec.

use super::terminal::Terminal;
use crate::agent::Agent;
use crate::call::{Call, call};
use crate::execs::get::get;
use crate::execs::id::ExecId;
use crate::websocket::connection::Connection;

/// A terminal at an exec that exists. It fails where there is no such exec, or the agent can't be asked.
pub fn attach(agent: &Agent, id: ExecId) -> Call<Terminal> {
    let agent = agent.child();
    call(async move {
        get(&agent, &id).await?;
        let connection = Connection::probe(&agent).await?;
        Ok(Terminal::new(agent, id, connection))
    })
}
