use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use sandpipe_protocol::{FileEncoding, FileReadResponse};

use super::{FilePath, Files, transfer};
use crate::{
    process::Identity,
    worker::{Failure, FailureKind, Open, WorkerError},
};

/// The most bytes of a file that go into JSON.
const MAX_CONTENT: usize = 16 * 1024 * 1024;

impl Files {
    /// Reads all of a file that is not too large.
    ///
    /// # Errors
    /// There is none that the user may read, or it is.
    pub(crate) async fn read(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<FileReadResponse, WorkerError> {
        let open = Open { path: path.into() };
        let (_, descriptors) = self.workers.ask(user, open, Vec::new()).await?;
        let file = descriptors.into_iter().next().ok_or(WorkerError::Ended)?;
        let bytes = transfer(move || read_whole(file)).await;
        let bytes = bytes.map_err(|error| WorkerError::of_io(path.absolute(), &error))?;
        bytes.map(|bytes| content(path, bytes)).ok_or_else(|| {
            let message = format!(
                "{} has more than {} MiB, the most that goes into JSON: ask for it with \"Accept: application/octet-stream\"",
                path.shown(),
                MAX_CONTENT >> 20
            );
            Failure::new(FailureKind::TooLarge, message).into()
        })
    }
}

/// Reads to the end; `None` where that is too far.
fn read_whole(file: OwnedFd) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut file = File::from(file).take(MAX_CONTENT as u64 + 1);
    match file.read_to_end(&mut bytes) {
        // What has no end has nothing more now.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        read => drop(read?),
    }
    Ok((bytes.len() <= MAX_CONTENT).then_some(bytes))
}

/// A file's content as JSON has it.
pub(crate) fn content(path: &FilePath, bytes: Vec<u8>) -> FileReadResponse {
    let (content, encoding) = match String::from_utf8(bytes) {
        Ok(content) => (content, FileEncoding::Utf8),
        Err(error) => (BASE64_STANDARD.encode(error.as_bytes()), FileEncoding::Base64),
    };
    FileReadResponse { path: path.shown(), content, encoding }
}
