//! What agent and box say to each other, for the fuzz targets.

use serde::{Serialize, de::DeserializeOwned};

use super::protocol::{Decoder, Reply, Report, Request, encode};

/// Reads requests to a box that come in chunks, as far as they make sense; gives them as they are written.
pub fn read_requests<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    read::<Request>(chunks)
}

/// The same for what a box says.
pub fn read_reports<'a>(chunks: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    read::<Report>(chunks)
}

/// Reads what comes over a reply socket; gives it as it is written.
#[must_use]
pub fn read_reply(bytes: &[u8]) -> Option<[u8; 5]> {
    Reply::decode(bytes).map(Reply::encode)
}

fn read<'a, T: Serialize + DeserializeOwned>(
    chunks: impl Iterator<Item = &'a [u8]>,
) -> Vec<Vec<u8>> {
    let mut decoder = Decoder::default();
    let mut messages = Vec::new();
    for chunk in chunks {
        decoder.feed(chunk);
        loop {
            match decoder.next::<T>() {
                Ok(Some(message)) => messages.extend(encode(&message)),
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}
