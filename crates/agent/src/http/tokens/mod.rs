//! The handlers of scoped tokens, one operation a file. All need the admin token.

pub(super) mod create;
pub(super) mod list;
pub(super) mod revoke;
