//! The targets, one a file.

mod agent_frame;
mod answers;
mod background;
mod bodies;
mod box_messages;
mod client_frame;
mod ended_index;
mod file_answers;
mod file_requests;
mod frames;
mod git_index;
mod json;
mod json_array;
mod json_string;
mod markers;
mod output;
mod output_event;
mod record;
mod request;
mod spool;
mod sse;
mod tar;
mod utf_8;

use crate::Target;

/// All of them: first what the client reads, then what the agent does.
pub const TARGETS: &[Target] = &[
    sse::TARGET,
    frames::TARGET,
    json::TARGET,
    json_array::TARGET,
    json_string::TARGET,
    output_event::TARGET,
    output::TARGET,
    agent_frame::TARGET,
    answers::TARGET,
    markers::TARGET,
    background::TARGET,
    file_answers::TARGET,
    request::TARGET,
    bodies::TARGET,
    client_frame::TARGET,
    utf_8::TARGET,
    spool::TARGET,
    record::TARGET,
    ended_index::TARGET,
    git_index::TARGET,
    box_messages::TARGET,
    file_requests::TARGET,
    tar::TARGET,
];

/// The target of that name.
#[must_use]
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}
