//! The host of the client where there is JavaScript: browsers, Node.js, edge workers.
//!
//! [`host::web_host`] makes what the client is given; each of the other files touches one thing of the platform's.

pub(crate) mod abort;
mod bytes;
mod fetch;
pub(crate) mod host;
mod response;
pub(crate) mod socket;
pub(crate) mod text;
mod timer;
pub(crate) mod value;

pub(crate) use fetch::Fetch;
