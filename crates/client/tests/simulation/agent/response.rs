//! What the agent answers.

use futures_util::StreamExt;
use futures_util::future::ready;
use sandpipe_client::host::FileHead;
use sandpipe_protocol::ErrorBody;
use serde::Serialize;

use crate::network::Bytes;

/// An answer.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    /// What it says of a file.
    pub(crate) file: FileHead,
    pub(crate) body: Bytes,
}

/// An answer that is whole from the beginning.
pub(crate) fn whole(status: u16, content_type: &'static str, body: Vec<u8>) -> Response {
    let body = futures_util::stream::once(ready(body)).boxed_local();
    stream(status, content_type, body)
}

pub(super) fn json(status: u16, value: &impl Serialize) -> Response {
    whole(status, "application/json", serde_json::to_vec(value).expect("plain data"))
}

pub(super) fn stream(status: u16, content_type: &'static str, body: Bytes) -> Response {
    Response { status, content_type, file: FileHead::default(), body }
}

pub(crate) fn error(status: u16, message: &str) -> Response {
    json(status, &ErrorBody { code: status, message: message.to_owned() })
}
