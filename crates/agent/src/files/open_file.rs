use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    ops::Range,
    os::fd::AsFd,
    sync::Arc,
};

use bytes::Bytes;
use futures_util::{Stream, stream};
use tokio::task::JoinHandle;

use super::{FilePath, Files, transfer};
use crate::{
    process::Identity,
    worker::{Attributes, Open, Time, WorkerError},
};

/// How much is read at once. While one chunk is on its way to the client the next one is being read.
const CHUNK: usize = 256 * 1024;

/// A file that is open for reading.
#[derive(Debug)]
pub(crate) struct OpenFile {
    file: Arc<File>,
    attributes: Attributes,
    /// Its beginning, where that is all of it.
    content: Option<Bytes>,
    /// Whether there is as much in it as it says: in `/proc` there is not.
    is_regular: bool,
}

impl Files {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// There is none that the user may read.
    pub(crate) async fn open(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
    ) -> Result<OpenFile, WorkerError> {
        let open = Open { path: path.into() };
        let (attributes, descriptors) = self.workers.ask(user, open, Vec::new()).await?;
        let file = descriptors.into_iter().next().ok_or(WorkerError::Ended)?;
        let file = Arc::new(File::from(file));
        if attributes.size >= CHUNK as u64 {
            return Ok(OpenFile { file, attributes, content: None, is_regular: true });
        }
        // What says less than it has, or more, shows that at once.
        let first = Arc::clone(&file);
        let content = transfer(move || read_chunk(&first, CHUNK)).await;
        let content = content.map_err(|error| WorkerError::of_io(path.absolute(), &error))?;
        let is_regular = content.len() as u64 == attributes.size;
        let is_whole = content.len() < CHUNK;
        let content = Some(content).filter(|_| is_whole && is_regular);
        Ok(OpenFile { file, attributes, content, is_regular })
    }
}

impl OpenFile {
    /// Its size, where it has one.
    pub(crate) fn size(&self) -> Option<u64> {
        self.is_regular.then_some(self.attributes.size)
    }

    /// What it was when it was opened, in words that no other state of it has (RFC 9110, 8.8.3).
    pub(crate) fn tag(&self) -> Option<String> {
        let Attributes { inode, size, modified, changed, .. } = self.attributes;
        let time = |time: Time| format!("{:x}.{:x}", time.seconds, time.nanoseconds);
        let tag = format!("\"{inode:x}-{size:x}-{}-{}\"", time(modified), time(changed));
        self.is_regular.then_some(tag)
    }

    pub(crate) fn modified(&self) -> Time {
        self.attributes.modified
    }

    /// A part of what is in it; none for all there is. The last chunk is an error where the file was changed meanwhile: a mixture never
    /// comes to its end.
    pub(crate) fn chunks(self, part: Option<Range<u64>>) -> impl Stream<Item = io::Result<Bytes>> {
        let part = part.filter(|_| self.is_regular);
        let part = match (part, self.size()) {
            (None, Some(size)) => Some(0..size),
            (part, _) => part,
        };
        let reading = Reading { file: self.file, rest: part.clone(), attributes: self.attributes };
        let content = self.content.zip(part).and_then(|(content, part)| {
            let (start, end) = (usize::try_from(part.start).ok()?, usize::try_from(part.end).ok()?);
            (end <= content.len() && start <= end).then(|| content.slice(start..end))
        });
        let state = match content {
            Some(content) => State::Last(content),
            None => State::Begin(reading),
        };
        stream::unfold(state, State::next)
    }
}

/// How far it is.
enum State {
    Begin(Reading),
    Reading(JoinHandle<io::Result<(Bytes, Option<Reading>)>>),
    Last(Bytes),
    End,
}

impl State {
    async fn next(self) -> Option<(io::Result<Bytes>, Self)> {
        let read = match self {
            Self::Begin(reading) => transfer(move || reading.next(true)).await,
            Self::Reading(read) => read.await.unwrap_or_else(|error| Err(io::Error::other(error))),
            Self::Last(bytes) if !bytes.is_empty() => return Some((Ok(bytes), Self::End)),
            Self::Last(_) | Self::End => return None,
        };
        match read {
            Ok((bytes, _)) if bytes.is_empty() => None,
            Ok((bytes, Some(rest))) => {
                let next = tokio::spawn(transfer(move || rest.next(false)));
                Some((Ok(bytes), Self::Reading(next)))
            }
            Ok((bytes, None)) => Some((Ok(bytes), Self::End)),
            Err(error) => {
                tracing::info!(%error, "a file can't be read to its end");
                Some((Err(error), Self::End))
            }
        }
    }
}

/// What is still to be read of a file.
struct Reading {
    file: Arc<File>,
    /// None for all that comes.
    rest: Option<Range<u64>>,
    attributes: Attributes,
}

impl Reading {
    /// Reads a chunk, from the beginning of the rest where that is the first; returns what is left. It blocks.
    fn next(mut self, is_first: bool) -> io::Result<(Bytes, Option<Self>)> {
        let Some(rest) = &mut self.rest else {
            if is_first {
                (&*self.file).seek(SeekFrom::Start(0))?;
            }
            return Ok((read_chunk(&self.file, CHUNK)?, Some(self)));
        };
        if is_first {
            (&*self.file).seek(SeekFrom::Start(rest.start))?;
        }
        let wanted = usize::try_from(rest.end - rest.start).unwrap_or(CHUNK).min(CHUNK);
        let bytes = read_chunk(&self.file, wanted)?;
        rest.start += bytes.len() as u64;
        if bytes.len() < wanted || rest.is_empty() && self.has_changed()? {
            return Err(io::Error::other("the file was changed while it was read"));
        }
        let rest =
            Some(self).filter(|reading| reading.rest.as_ref().is_none_or(|rest| !rest.is_empty()));
        Ok((bytes, rest))
    }

    fn has_changed(&self) -> io::Result<bool> {
        let now = Attributes::of(&rustix::fs::fstat(self.file.as_fd())?);
        let state =
            |attributes: &Attributes| (attributes.size, attributes.modified, attributes.changed);
        Ok(state(&now) != state(&self.attributes))
    }
}

/// Reads so many bytes, fewer only at the end.
fn read_chunk(file: &File, length: usize) -> io::Result<Bytes> {
    let mut bytes = Vec::with_capacity(length);
    match file.take(length as u64).read_to_end(&mut bytes) {
        // What has no end has nothing more now.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
        read => drop(read?),
    }
    Ok(bytes.into())
}
