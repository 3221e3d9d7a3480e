//! Making a request again.

mod backoff;
mod policy;
mod reconnects;

pub(crate) use backoff::Backoff;
pub(crate) use policy::{Failure, RetryPolicy, is_worth_repeating};
pub(crate) use reconnects::{Pause, Reconnects};
