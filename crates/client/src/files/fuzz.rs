//! What an agent says of files and ports, for the fuzz targets.

use sandpipe_protocol::{DirectoryListResponse, PortsListResponse, WatcherEvent};

use super::FilePath;
use super::base64::decode;
use super::reader::ContentRange;
use crate::Operation;
use crate::http::read_json;

/// What is in a directory.
pub fn read_list(json: &[u8]) -> Option<DirectoryListResponse> {
    read_json(Operation::ListDirectory, json).ok()
}

/// The sockets that listen.
pub fn read_ports(json: &[u8]) -> Option<PortsListResponse> {
    read_json(Operation::ListPorts, json).ok()
}

/// Something that has happened in a directory.
pub fn read_change(json: &[u8]) -> Option<WatcherEvent> {
    read_json(Operation::WatchDirectory, json).ok()
}

/// The address of a path that is given percent-encoded.
pub fn url_of_raw(raw: &str) -> Option<String> {
    Some(FilePath::parse_raw(raw)?.url(""))
}

/// The bytes that base64 stands for.
pub fn read_base64(text: &str) -> Option<Vec<u8>> {
    decode(text)
}

/// The first byte and the last one of a `Content-Range`, and the size of the file.
pub fn read_content_range(header: &str) -> Option<(u64, u64, Option<u64>)> {
    let ContentRange { first, last, size } = ContentRange::parse(header)?;
    Some((first, last, size))
}
