//! Tar streams that clients send, for the fuzz targets.

use std::io::{self, Read};

use ::tar::EntryType;

use super::tar::{EntryKind, Reader, TarError, Writer, Written};

/// Bytes that come in chunks.
struct Chunks<'a, I> {
    chunks: I,
    left: &'a [u8],
}

impl<'a, I: Iterator<Item = &'a [u8]>> Read for Chunks<'a, I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.left.is_empty() {
            match self.chunks.next() {
                Some(chunk) => self.left = chunk,
                None => return Ok(0),
            }
        }
        self.left.read(buffer)
    }
}

/// Reads a tar stream that comes in chunks, as far as it makes sense. Gives it as it is written, with an end, and what is wrong.
///
/// # Errors
/// It can't be written again.
pub fn read_tar<'a>(
    chunks: impl Iterator<Item = &'a [u8]>,
) -> io::Result<(Vec<u8>, Option<String>)> {
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes);
    let mut reader = Reader::new(Chunks { chunks, left: &[] });
    let wrong = loop {
        match copy_entry(&mut reader, &mut writer)? {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(error.to_string()),
        }
    };
    writer.finish()?;
    Ok((bytes, wrong))
}

/// Copies the next entry; false where there is none.
fn copy_entry<R: Read>(
    reader: &mut Reader<R>,
    writer: &mut Writer<&mut Vec<u8>>,
) -> io::Result<Result<bool, TarError>> {
    let entry = match reader.next() {
        Ok(Some(entry)) => entry,
        Ok(None) => return Ok(Ok(false)),
        Err(error) => return Ok(Err(error)),
    };
    let mut content = Vec::new();
    if entry.kind == EntryKind::File && reader.read_to_end(&mut content).is_err() {
        return Ok(Err(TarError::Cut("in the middle of a file")));
    }
    let (kind, link, device): (_, &[u8], _) = match &entry.kind {
        EntryKind::File => (EntryType::Regular, b"", None),
        EntryKind::Directory => (EntryType::Directory, b"", None),
        EntryKind::Symlink(link) => (EntryType::Symlink, link, None),
        // One is written as the file that it is.
        EntryKind::HardLink(link) => (EntryType::Link, link, None),
        EntryKind::Fifo => (EntryType::Fifo, b"", None),
        EntryKind::Characters(major, minor) => (EntryType::Char, b"", Some((*major, *minor))),
        EntryKind::Blocks(major, minor) => (EntryType::Block, b"", Some((*major, *minor))),
    };
    let written = Written {
        path: &entry.path,
        kind,
        mode: entry.mode,
        modified: entry.modified,
        link,
        size: content.len() as u64,
        device,
    };
    writer.append(&written, content.as_slice()).map_err(io::Error::other)?;
    Ok(Ok(true))
}
