//! The handlers of ports, one operation a file.

pub(super) mod forward;
pub(super) mod list;
pub(super) mod stream;
