//! Requests to the agent: how long to wait before one is made again.

pub mod backoff;
pub mod reconnect;
