//! Making a request again.

mod backoff;
mod policy;

pub(crate) use backoff::Backoff;
pub(crate) use policy::{Failure, RetryPolicy, is_worth_repeating};
