//! Text that a shell is to read.

pub(crate) mod here_document;
pub(crate) mod quote;
