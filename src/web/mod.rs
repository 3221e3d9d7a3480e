//! The host of the client where there is JavaScript: browsers, Node.js, edge workers.
//!
//! [`host::web_host`] makes what the client is given; each of the other files touches one thing of the platform's.

pub(crate) mod abort;
pub(crate) mod events;
mod fetch;
pub(crate) mod host;
pub(crate) mod live_list;
pub(crate) mod regexp;
mod response;
pub(crate) mod retry_hooks;
pub(crate) mod runtime;
pub(crate) mod socket;
pub(crate) mod text;
mod timer;

pub(crate) use fetch::Fetch;
