//! Server-Sent Events, as the WHATWG HTML standard defines them (section 9.2).

mod decode;
mod encode;

pub use decode::{Decoder, Event, EventTooLarge, MAX_EVENT_SIZE};
pub use encode::{encode_comment, encode_event};
