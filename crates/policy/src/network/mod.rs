//! Which hosts commands reach: rules, and the addresses that no name may lead to.

mod address;
mod decide;
mod forward;
mod host_rule;
pub mod proxy;

pub use address::{Reserved, reserved};
pub use decide::{Destination, Refusal, check_address, check_name};
pub use forward::{Forward, forwards, host_lines};
pub use host_rule::{Host, HostRule, InvalidHostRule};
