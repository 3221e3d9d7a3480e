//! What a worker can be asked for, one operation a file.

mod open;
mod stat;

pub(crate) use open::Open;
pub(crate) use stat::Stat;
