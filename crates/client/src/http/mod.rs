//! Requests to the agent and the reading of its answers.
//!
//! A [`Request`] says what is wanted. [`HttpClient`] has the host send it and gives a [`ResponseBody`], or the error that
//! the answer stands for; `repeat.rs` makes it again where that may help, after a pause of [`Backoff`] and as far as the
//! caller's [`RetryHooks`] allow.

mod backoff;
mod client;
mod event_source;
mod media_type;
mod reconnect;
mod repeat;
mod request;
mod response;
mod retry_policy;

pub use backoff::Backoff;
pub use client::HttpClient;
pub use retry_policy::{RetryContext, RetryDecision, RetryHooks, RetryPolicy};

pub(crate) use event_source::EventSource;
pub(crate) use media_type::MediaType;
pub(crate) use reconnect::{Pause, ReconnectBackoff};
pub(crate) use request::{
    BYTES, EVENT_STREAM, FRAMES_OR_JSON, JSON, OUTPUT, OUTPUT_OR_JSON, Request, TAR,
};
#[cfg(feature = "fuzz")]
pub(crate) use response::error_of_status;
pub(crate) use response::{
    FINISH_TIMEOUT_MS, IDLE_TIMEOUT_MS, Idle, ResponseBody, excerpt, read_json,
};
pub(crate) use retry_policy::is_retryable;
