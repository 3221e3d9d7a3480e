//! Functions of the caller's, as the client calls them.

pub(crate) mod regexp;
pub(crate) mod retry_hooks;
pub(crate) mod runtime;
