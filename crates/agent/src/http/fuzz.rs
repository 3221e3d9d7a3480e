//! What clients send, for the fuzz targets.

use super::execs::websocket;
pub use super::files::fuzz::range;

/// The number of a WebSocket's frame that is not as it should be otherwise.
#[must_use]
pub fn frame_id(text: &str) -> Option<u32> {
    websocket::id_of(text)
}
