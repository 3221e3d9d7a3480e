use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use sandpipe_protocol::{FileEncoding, FileReadResponse};

use super::{FilePath, Files};
use crate::{
    blocking::{self, NotRun},
    process::Identity,
    worker::{Open, WorkerError},
};

/// The most bytes of a file that go into JSON.
pub(crate) const MAX_CONTENT: usize = 16 * 1024 * 1024;

/// Why there is no content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Worker(#[from] WorkerError),
    #[error(
        "{path} has more than {} MiB, the most that goes into JSON: ask for it with \"Accept: application/octet-stream\"",
        MAX_CONTENT >> 20
    )]
    TooLarge { path: String },
    #[error("{path} can't be read: {error}")]
    Read { path: String, error: io::Error },
    #[error(transparent)]
    NotRun(#[from] NotRun),
}

impl Files {
    /// Reads all of a file that is not too large.
    ///
    /// # Errors
    /// There is none that the user may read, or it is.
    pub(crate) async fn read(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<FileReadResponse, ReadError> {
        let open = Open { path: path.absolute().into() };
        let (_, descriptors) = self.workers.ask(user, open, Vec::new()).await?;
        let shown = path.shown();
        let file = descriptors.into_iter().next().ok_or(WorkerError::Ended)?;
        let read = blocking::transfer(move || read_whole(file)).await?;
        match read {
            Ok(Some(bytes)) => Ok(content(shown, bytes)),
            Ok(None) => Err(ReadError::TooLarge { path: shown }),
            Err(error) => Err(ReadError::Read { path: shown, error }),
        }
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
pub(super) fn content(path: String, bytes: Vec<u8>) -> FileReadResponse {
    match String::from_utf8(bytes) {
        Ok(content) => FileReadResponse { path, content, encoding: FileEncoding::Utf8 },
        Err(error) => {
            let content = BASE64_STANDARD.encode(error.as_bytes());
            FileReadResponse { path, content, encoding: FileEncoding::Base64 }
        }
    }
}
