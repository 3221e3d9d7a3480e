//! Answers of an agent: the body as it comes, what it says, and the errors that it may stand for.

use std::future::poll_fn;
use std::mem;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::ErrorBody;
use sandpipe_protocol::json::{self, FromJson};

use super::MediaType;
use crate::host::{Body, FileHead, NoResponse};
use crate::{AbortSignal, Error, Host, Operation, Result};

/// How long a stream may be idle, in milliseconds, before its connection is taken for dead. An
/// agent says something every 15 s; another one that does not is merely asked again.
pub(crate) const IDLE_TIMEOUT_MS: f64 = 45_000.0;

/// How long a read that has waited long enough goes on looking, in milliseconds: in a page that was busy timers may be told before
/// what has come.
const LAST_LOOK_MS: f64 = 50.0;

/// How long what is as good as over may take to end, in milliseconds.
pub(crate) const FINISH_TIMEOUT_MS: u32 = 1000;

/// The most that is read of an answer that is read whole.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// An answer: before its head has come what its errors say, then its body. Dropping it before all of it has come closes
/// the connection.
pub(crate) struct ResponseBody {
    /// Its status.
    pub(crate) status: u16,
    /// What it says of a file.
    pub(crate) file: FileHead,
    /// What it is, by its header `Content-Type`.
    pub(crate) media_type: MediaType,
    /// None where the answer has no body.
    pub(super) body: Option<Box<dyn Body>>,
    pub(super) host: Rc<dyn Host>,
    /// The agent's address.
    pub(super) url: Rc<str>,
    pub(super) operation: Operation,
    /// What the request is one of.
    pub(super) scope: AbortSignal,
    /// Aborted when the request is to end.
    pub(super) cancel: AbortSignal,
    /// When the answer began, by the host's clock.
    pub(super) opened_ms: f64,
    /// The newest chunk; its memory serves the next one.
    pub(super) chunk: Vec<u8>,
    /// What was read and given back: it is what the next read gives.
    pub(crate) put_back: Vec<u8>,
    /// What tells reads that nothing comes. It serves many: to set and clear one for each chunk takes longer than
    /// to decode a line.
    pub(super) idle_timer: Option<LocalBoxFuture<'static, ()>>,
}

/// Nothing came for so long that the connection may be dead.
pub(crate) struct Idle;

impl ResponseBody {
    pub(super) fn no_answer(
        &self,
        NoResponse { reason, never_sent, cause }: NoResponse,
    ) -> Box<Error> {
        // Closing also fails what is under way.
        if self.scope.is_aborted() {
            return Error::Closed.into();
        }
        let (operation, url) = (self.operation, self.url.to_string());
        Error::Network { operation, url, reason, never_sent, not_run: false, cause }.into()
    }

    /// The error of an answer that did not come, or not whole, although nothing says so but its absence.
    pub(crate) fn cut_off(&self, reason: &str) -> Box<Error> {
        self.no_answer(NoResponse { reason: reason.to_owned(), never_sent: false, cause: None })
    }

    /// The next chunk as the network gave it, never empty; None at the end.
    pub(crate) async fn read(&mut self) -> Result<Option<&[u8]>> {
        self.read_chunk().await?;
        Ok(self.newest())
    }

    /// The same; an `Err` of the outer kind says that nothing came for too long.
    pub(crate) async fn read_unless_idle(
        &mut self,
    ) -> std::result::Result<Result<Option<&[u8]>>, Idle> {
        self.read_unless_silent(IDLE_TIMEOUT_MS).await
    }

    /// The same; too long is what the caller says, in milliseconds.
    pub(crate) async fn read_unless_silent(
        &mut self,
        limit_ms: f64,
    ) -> std::result::Result<Result<Option<&[u8]>>, Idle> {
        let begun_ms = self.host.now_ms();
        let mut left_ms = limit_ms;
        let mut is_last_look = false;
        loop {
            let timer = self.idle_timer.take().unwrap_or_else(|| self.host.sleep(left_ms));
            let read = match select(pin!(self.read_chunk()), timer).await {
                Either::Left(read) => Some(read),
                Either::Right(_) => None,
            };
            if let Some((read, timer)) = read {
                self.idle_timer = Some(timer);
                return Ok(read.map(|()| self.newest()));
            }
            // It may have been set for a read before this one.
            left_ms = begun_ms + limit_ms - self.host.now_ms();
            if left_ms <= 0.0 {
                if is_last_look {
                    return Err(Idle);
                }
                is_last_look = true;
                left_ms = LAST_LOOK_MS;
            }
        }
    }

    /// Reads into the chunk; one that is given up before it is done loses nothing.
    async fn read_chunk(&mut self) -> Result<()> {
        if !self.put_back.is_empty() {
            self.chunk = mem::take(&mut self.put_back);
            return Ok(());
        }
        let Self { body: Some(body), chunk, .. } = self else {
            self.chunk.clear();
            return Ok(());
        };
        let read = poll_fn(|context| body.poll_read(context, chunk)).await;
        read.map_err(|broken| self.no_answer(broken))
    }

    /// The newest chunk; None at the end.
    fn newest(&self) -> Option<&[u8]> {
        (!self.chunk.is_empty()).then_some(&self.chunk)
    }

    /// How long ago the answer began, in milliseconds.
    pub(crate) fn age_ms(&self) -> f64 {
        self.host.now_ms() - self.opened_ms
    }

    /// Has the rest read of an answer that has said all there is to say: its connection serves the next
    /// request then, and no browser shows the request as a failed one. Nobody waits for it. If the rest
    /// does not come the connection is closed.
    pub(crate) fn finish(mut self) {
        self.cancel.detach();
        self.idle_timer = None;
        if let Some(body) = &mut self.body {
            body.unref();
        }
        let host = self.host.clone();
        let rest = async move { while let Ok(Some(_)) = self.read().await {} };
        host.linger(Box::pin(rest), FINISH_TIMEOUT_MS);
    }

    /// Reads the whole body.
    pub(crate) async fn read_to_end(&mut self) -> Result<Vec<u8>> {
        let whole = self.read_up_to(MAX_BODY).await?;
        if whole.len() < MAX_BODY {
            return Ok(whole);
        }
        Err(Error::Protocol {
            operation: self.operation,
            problem: format!("the answer is larger than {MAX_BODY} bytes"),
            excerpt: excerpt(&whole),
        }
        .into())
    }

    /// Reads no more than a certain number of bytes; the rest is left.
    pub(super) async fn read_up_to(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < limit {
            let Ok(chunk) = self.read_unless_idle().await else {
                return Err(self.cut_off("the rest of the answer did not come within 45 s"));
            };
            let Some(chunk) = chunk? else {
                break;
            };
            let room = limit - bytes.len();
            bytes.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        }
        Ok(bytes)
    }
}

/// The pause that a `Retry-After` header asks for, in milliseconds: a number of seconds, or a date
/// (RFC 9110, 10.2.3).
pub(super) fn retry_after_ms(value: &str, host: &dyn Host) -> Option<f64> {
    let value = value.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        // Beyond that it is too long anyhow.
        return Some(f64::from(value.parse::<u32>().unwrap_or(u32::MAX)) * 1000.0);
    }
    host.ms_until(value)
}

/// The error that an answer with another status than 2xx stands for.
pub(crate) fn error_of_status(
    operation: Operation,
    status: u16,
    body: String,
    retry_after_ms: Option<f64>,
) -> Box<Error> {
    let message = json::read::<ErrorBody>(body.as_bytes()).ok().map(|body| body.message);
    Box::new(Error::Http {
        operation,
        status,
        message,
        body,
        retry_after_ms,
        max_delay_ms: None,
        not_run: false,
    })
}

/// The value that an answer's body holds.
pub(crate) fn read_json<T: FromJson>(operation: Operation, body: &[u8]) -> Result<T> {
    json::read(body).map_err(|problem| {
        let excerpt = excerpt(body);
        let problem = format!("the agent's answer is not what it should be: {problem}: {excerpt}");
        Box::new(Error::Protocol { operation, problem, excerpt })
    })
}

/// The beginning of something that can't be understood, short enough for a message.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    const LENGTH: usize = 120;
    let text = String::from_utf8_lossy(bytes.get(..LENGTH * 4).unwrap_or(bytes));
    let mut excerpt: String = text.chars().take(LENGTH).collect();
    if excerpt.len() < bytes.len() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_gives_the_reason_of_the_agent() {
        let error = error_of_status(
            Operation::GetExec,
            404,
            r#"{"code":404,"message":"no exec \"x\""}"#.into(),
            None,
        );
        assert_eq!(error.to_string(), "get exec: the agent answered 404: no exec \"x\"");
        let error =
            error_of_status(Operation::GetExec, 502, "<html>Bad Gateway</html>".into(), None);
        assert_eq!(error.to_string(), "get exec: the agent answered 502");
    }

    #[test]
    fn an_answer_that_is_not_json_is_quoted() {
        let page = format!("<!DOCTYPE html>{}", "x".repeat(1000));
        let error = read_json::<u16>(Operation::GetExec, page.as_bytes()).unwrap_err();
        let Error::Protocol { problem, excerpt, .. } = *error else {
            panic!("it is about something else: {error}");
        };
        assert!(problem.contains("<!DOCTYPE html>"), "{problem}");
        assert_eq!(excerpt.chars().count(), 121);
    }
}
