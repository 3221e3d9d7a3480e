//! Execs: commands that the agent runs.

pub mod ladder;
