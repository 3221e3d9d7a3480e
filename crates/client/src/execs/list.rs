//! The list of all execs.

use sandpipe_protocol::ExecItem;
use sandpipe_protocol::json::{FromJson, Problem, Value};

use crate::http::Request;
use crate::{Agent, Call, Operation};

/// What an event of the list's stream says; also the list by itself.
pub struct ListEvent {
    /// These are all execs, and not only those that are new or have changed.
    pub is_snapshot: bool,
    /// The newest first. One that is new is newer than all before.
    pub execs: Vec<ExecItem>,
    /// The ids of those that are gone.
    pub removed: Vec<String>,
}

impl FromJson for ListEvent {
    fn from_json(value: &Value<'_>) -> Result<Self, Problem> {
        if value.find("changed")?.is_none() {
            return Ok(Self {
                is_snapshot: true,
                execs: value.field("execs")?,
                removed: Vec::new(),
            });
        }
        let (execs, removed) = (value.field("changed")?, value.field("removed")?);
        Ok(Self { is_snapshot: false, execs, removed })
    }
}

/// All execs, newest first, long command lines short.
pub fn list(agent: &Agent) -> Call<ListEvent> {
    agent.http.ask(Request::get(Operation::ListExecs, "/api/v1/execs".to_owned()))
}
