//! Text that a shell is to read.

pub mod here_document;
pub mod quote;
