//! Reading a file over as many connections as it takes.

use futures_util::future::LocalBoxFuture;

use super::read_base::read_base;
use super::{Target, no_bytes};
use crate::host::FileHead;
use crate::http::{
    BYTES, Pause, ReconnectBackoff, Request, ResponseBody, RetryContext, is_retryable,
};
use crate::{AbortSignal, Agent, Error, Feature, Operation, Result};

const OPERATION: Operation = Operation::ReadFile;

/// Which part of a file is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Where it begins, in bytes. Behind the end of the file there is nothing.
    pub offset: u64,
    /// How long it is at most, in bytes; None: up to the end.
    pub length: Option<u64>,
}

/// Reads a part of a file, range by range: browsers read an answer ahead of who takes it, Firefox all of it. A connection
/// that breaks is made again, and goes on where the last one was; a file that is another one by then is an error, so that
/// the bytes are never those of two.
pub struct FileReader {
    agent: Agent,
    target: Target,
    /// Where the next byte is in the file.
    position: u64,
    /// Where the wanted part ends.
    end: Option<u64>,
    /// Where the file ends, if that is known.
    known_end: Option<u64>,
    /// Where the part ends that the answer has, if that is known.
    range_end: Option<u64>,
    /// How much is asked for at once, where what follows can be asked for.
    max_range_bytes: Option<u64>,
    /// The file's strong entity tag: which one it is.
    version: Option<String>,
    has_read: bool,
    state: State,
    /// How many connections in a row have brought nothing.
    failures: u32,
    reconnects: ReconnectBackoff,
}

enum State {
    Disconnected,
    /// Of what comes first so many bytes are not wanted.
    Open(ResponseBody, u64),
    /// All of it, from an agent that has no parts.
    Whole(Vec<u8>),
    Ended,
}

impl FileReader {
    /// A reader of this part. It connects with the first read.
    pub fn new(agent: Agent, target: Target, part: Part) -> Self {
        let reconnects = ReconnectBackoff::new(agent.http.retry().backoff);
        let end = part.length.map(|length| part.offset.saturating_add(length));
        let max_range_bytes = Some(agent.http.host().max_range_bytes());
        Self {
            agent,
            target,
            position: part.offset,
            end,
            known_end: None,
            range_end: None,
            max_range_bytes,
            version: None,
            has_read: false,
            state: State::Disconnected,
            failures: 0,
            reconnects,
        }
    }

    /// Aborted: the reading ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }

    /// Gives the next bytes to `take`, at least one; false at the end. A read that is dropped before it is done loses
    /// nothing that was not taken.
    ///
    /// # Errors
    /// [`Error::FileChanged`], and those of `take`.
    pub fn read_into<'a>(
        &'a mut self,
        take: &'a mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> LocalBoxFuture<'a, Result<bool>> {
        Box::pin(self.read_on(take))
    }

    async fn read_on(&mut self, take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<bool> {
        loop {
            let end = self.end.into_iter().chain(self.known_end).min();
            if end.is_some_and(|end| self.position >= end) {
                self.leave(State::Ended);
            } else if self.range_end.is_some_and(|end| self.position >= end) {
                self.leave(State::Disconnected);
            }
            let range_end = end.into_iter().chain(self.range_end).min();
            match &mut self.state {
                State::Ended => return Ok(false),
                State::Disconnected => match self.connect().await {
                    Ok(state) => self.state = state,
                    Err(error) => self.after_disconnect(error).await?,
                },
                State::Whole(bytes) => {
                    let rest = part_of(bytes, self.position, self.end).to_vec();
                    self.state = State::Ended;
                    if !rest.is_empty() {
                        take(&rest)?;
                        return Ok(true);
                    }
                }
                State::Open(body, unwanted) => {
                    let error = match body.read_unless_idle().await {
                        Ok(Ok(Some(chunk))) => {
                            let wanted = wanted_part(chunk, unwanted, self.position, range_end);
                            if wanted.is_empty() {
                                continue;
                            }
                            self.position += wanted.len() as u64;
                            self.has_read = true;
                            self.failures = 0;
                            self.reconnects.on_progress();
                            take(wanted)?;
                            return Ok(true);
                        }
                        // Where the length is known, this is not the end.
                        Ok(Ok(None)) if self.range_end.is_some() => {
                            body.cut_off("the answer ended before the file did")
                        }
                        Ok(Ok(None)) => {
                            self.state = State::Ended;
                            continue;
                        }
                        Ok(Err(error)) => error,
                        Err(_idle) => body.cut_off("nothing came for 45 s"),
                    };
                    self.after_disconnect(error).await?;
                }
            }
        }
    }

    /// All that was wanted of the answer has come.
    fn leave(&mut self, next: State) {
        self.range_end = None;
        if let State::Open(body, _) = std::mem::replace(&mut self.state, next) {
            body.finish();
        }
    }

    async fn connect(&mut self) -> Result<State> {
        self.target.check(&self.agent).await?;
        if !self.agent.offers(Feature::FilesRaw).await? {
            if self.has_read {
                // It is another agent than it was.
                return Err(no_bytes("going on with a file that was read in part"));
            }
            return read_base(&self.agent, &self.target).await.map(State::Whole);
        }
        loop {
            if let Some(state) = self.open().await? {
                return Ok(state);
            }
            // What follows can't be told to be of the same file: all of it comes in one answer.
            self.max_range_bytes = None;
        }
    }

    /// Asks for the next range; None where it can't be gone on behind that.
    async fn open(&mut self) -> Result<Option<State>> {
        let mut request = Request::get(OPERATION, self.target.url("/api/v1/files", &[]));
        request.accept = BYTES;
        let max_end = self.max_range_bytes.map(|bytes| self.position.saturating_add(bytes));
        let end = self.end.into_iter().chain(max_end).min();
        if self.position > 0 || end.is_some() {
            let last = end.map(|end| (end - 1).to_string()).unwrap_or_default();
            request.headers.push(("range", format!("bytes={}-{last}", self.position)));
            if let Some(version) = &self.version {
                request.headers.push(("if-range", version.clone()));
            }
        }
        let body = match self.agent.http.open(&request).await {
            Ok(body) => body,
            // There is nothing from there on (RFC 9110, 15.5.17).
            Err(error) if error.status() == Some(416) => {
                return if self.known_end.is_some() {
                    Err(self.changed())
                } else {
                    Ok(Some(State::Ended))
                };
            }
            Err(error) => return Err(error),
        };
        let FileHead { etag, content_range, content_length } = &body.file;
        let etag = etag.as_deref().filter(|etag| is_strong(etag));
        if self.version.is_some() && self.version.as_deref() != etag {
            return Err(self.changed());
        }
        let is_partial = body.status == 206;
        let (first, end, size) = if is_partial {
            let range = content_range.as_deref().and_then(ContentRange::parse);
            let range = range.filter(|range| range.first == self.position);
            let Some(ContentRange { first, last, size }) = range else {
                let problem = format!(
                    "the answer has another part than the one from byte {} on",
                    self.position
                );
                let excerpt = content_range.clone().unwrap_or_default();
                return Err(Error::Protocol { operation: OPERATION, problem, excerpt }.into());
            };
            (first, Some(last + 1), size)
        } else {
            let length = content_length.as_deref().and_then(|length| length.trim().parse().ok());
            (0, length, length)
        };
        let is_all = [size, self.end].into_iter().flatten().any(|all| end >= Some(all));
        if is_partial && etag.is_none() && self.max_range_bytes.is_some() && !is_all {
            return Ok(None);
        }
        self.version = etag.map(str::to_owned);
        // Of an encoded answer it would be another length; that has no strong tag.
        self.range_end = end.filter(|_| self.version.is_some());
        self.known_end = size.filter(|_| self.version.is_some());
        Ok(Some(State::Open(body, self.position - first)))
    }

    fn changed(&self) -> Box<Error> {
        Error::FileChanged { path: self.target.display() }.into()
    }

    /// Waits after a connection that broke, or could not be made.
    ///
    /// # Errors
    /// `error`, where another connection would not help, or could bring another file's bytes.
    async fn after_disconnect(&mut self, error: Box<Error>) -> Result<()> {
        let lasted_ms = match std::mem::replace(&mut self.state, State::Disconnected) {
            State::Open(body, _) => body.age_ms(),
            _ => 0.0,
        };
        // Where an agent is known to be, a page is trouble on the way to it.
        let is_page = matches!(*error, Error::Protocol { .. }) && self.agent.was_seen();
        let can_go_on = !self.has_read || self.version.is_some();
        self.failures += 1;
        let retry = self.agent.http.retry();
        let is_last = self.failures >= retry.backoff.max_attempts;
        if !can_go_on || is_last || !(is_page || is_retryable(&error)) {
            self.state = State::Ended;
            return Err(error);
        }
        let Pause { attempt, delay_ms } =
            self.reconnects.pause(lasted_ms, self.agent.http.random(), error.retry_after_ms());
        let failed = RetryContext::new(OPERATION, attempt, &error, delay_ms, true);
        match retry.decide(failed).await? {
            Some(delay_ms) => self.agent.http.pause(delay_ms).await,
            None => Err(error),
        }
    }
}

/// The part of a whole file from `position` up to `end`.
fn part_of(bytes: &[u8], position: u64, end: Option<u64>) -> &[u8] {
    let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(bytes.len());
    bytes.get(place(position)..place(end.unwrap_or(u64::MAX))).unwrap_or_default()
}

/// What is wanted of a chunk: behind what is not, and before the end.
fn wanted_part<'a>(
    chunk: &'a [u8],
    unwanted: &mut u64,
    position: u64,
    end: Option<u64>,
) -> &'a [u8] {
    let skipped = (*unwanted).min(chunk.len() as u64);
    *unwanted -= skipped;
    part_of(chunk, skipped, end.map(|end| (end - position).saturating_add(skipped)))
}

/// Whether a tag is one of these very bytes (RFC 9110, 8.8.1).
fn is_strong(etag: &str) -> bool {
    etag.starts_with('"')
}

/// The header `Content-Range` of a part (RFC 9110, 14.4).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ContentRange {
    pub(super) first: u64,
    pub(super) last: u64,
    /// Of the whole file; None where the server does not say.
    pub(super) size: Option<u64>,
}

impl ContentRange {
    pub(super) fn parse(header: &str) -> Option<Self> {
        let (range, size) = header.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let (first, last) = (first.parse().ok()?, last.parse().ok()?);
        (first <= last && last < u64::MAX).then(|| Self { first, last, size: size.parse().ok() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_and_what_is_none_is_not() {
        let range = |first, last, size| Some(ContentRange { first, last, size });
        assert_eq!(ContentRange::parse("bytes 2-9/10"), range(2, 9, Some(10)));
        assert_eq!(ContentRange::parse("bytes 0-0/*"), range(0, 0, None));
        for wrong in
            ["", "bytes */10", "bytes 9-2/10", "lines 0-1/2", "bytes 0-18446744073709551615/*"]
        {
            assert_eq!(ContentRange::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_a_chunk_only_what_is_wanted_is_taken() {
        let mut unwanted = 3;
        assert_eq!(wanted_part(b"ab", &mut unwanted, 3, Some(5)), b"");
        assert_eq!(wanted_part(b"cdefg", &mut unwanted, 3, Some(5)), b"de");
        assert_eq!(wanted_part(b"xy", &mut unwanted, 3, None), b"xy");
        assert_eq!(unwanted, 0);
    }

    #[test]
    fn a_weak_tag_says_nothing_of_bytes() {
        assert!(is_strong("\"a\"") && !is_strong("W/\"a\"") && !is_strong(""));
    }
}
