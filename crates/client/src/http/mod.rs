//! Requests to the agent and the reading of its answers.
//!
//! A [`request::Request`] says what is wanted. [`client::HttpClient`] has the host send it and gives a
//! [`response::ResponseBody`], or the error that the answer stands for; `repeat.rs` makes it again where that may
//! help, after a pause of [`backoff::Backoff`] and as far as the caller's [`retry_policy::RetryHooks`] allow.

pub mod backoff;
pub mod client;
pub(crate) mod reconnect;
mod repeat;
pub(crate) mod request;
pub(crate) mod response;
pub mod retry_policy;
