//! The one file that touches `fetch`.

use std::mem;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, select};
use js_sys::{Date, Function, Object, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{AbortSignal, RequestInit};

use crate::abort::Abort;
use crate::answer::{Answer, ChunkReader};
use crate::closing::{Cancel, InFlight};
use crate::errors::host_value;
use crate::features::{Feature, Features};
use crate::fetch_error::{describe, never_sent};
use crate::request::{MediaType, Request, excerpt, refusal};
use crate::retry::{Failure, RetryPolicy, is_worth_repeating};
use crate::sleep::sleep;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

/// How long a stream may be silent, in milliseconds, before its connection is taken for dead. An
/// agent says something every 15 s; another one that does not is merely asked again.
const SILENCE: f64 = 45_000.0;

/// How long what is as good as over may take to end, in milliseconds.
const FINISH_TIMEOUT: u32 = 1000;

/// The most that is read of an answer that is read whole.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// The most that is read of an answer with an error: it may be any server's.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The way to one agent. A clone is the same way.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    agent: Rc<Agent>,
    pub(crate) in_flight: InFlight,
}

/// What does not change about an agent.
#[derive(Debug)]
struct Agent {
    /// Its address, without a slash at its end.
    url: String,
    fetch: Function,
    /// What every request carries, the token included: values by names in lower case.
    headers: Object,
    /// What a WebSocket's address carries in place of headers; None where it can't say all that a
    /// request does.
    socket_query: Option<String>,
    retry: RetryPolicy,
    features: Features,
}

impl Transport {
    pub(crate) fn new(
        url: String,
        fetch: Function,
        headers: Object,
        socket_query: Option<String>,
        retry: RetryPolicy,
    ) -> Self {
        let features = Features::default();
        let agent = Agent { url, fetch, headers, socket_query, retry, features };
        Self { agent: Rc::new(agent), in_flight: InFlight::default() }
    }

    /// The same way for something that can be closed by itself.
    pub(crate) fn part(&self) -> Self {
        Self { agent: self.agent.clone(), in_flight: self.in_flight.part() }
    }

    /// The agent's address.
    pub(crate) fn url(&self) -> &str {
        &self.agent.url
    }

    /// The address of a WebSocket of the agent's, if a WebSocket can say all that a request does. The
    /// path has a query.
    pub(crate) fn socket_address(&self, path: &str) -> Option<String> {
        let query = self.agent.socket_query.as_ref()?;
        // "http" is the beginning of "https", too.
        let rest = self.agent.url.strip_prefix("http")?;
        Some(format!("ws{rest}{path}{query}"))
    }

    /// The same way for what is still to be done when all else has been closed.
    pub(crate) fn apart(&self) -> Self {
        Self { agent: self.agent.clone(), in_flight: InFlight::default() }
    }

    /// Whether this, or what it is a part of, has been closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.in_flight.is_closed()
    }

    pub(crate) fn retry(&self) -> &RetryPolicy {
        &self.agent.retry
    }

    /// Whether the agent offers an extension.
    ///
    /// # Errors
    /// It could not be asked.
    pub(crate) async fn offers(&self, feature: Feature) -> Result<bool> {
        self.agent.features.offers(feature, self).await
    }

    /// Whether it is known that an agent is there.
    pub(crate) fn is_known(&self) -> bool {
        self.agent.features.answered()
    }

    /// Makes a request that may be repeated, as often as it takes and is allowed, and reads the whole
    /// answer.
    ///
    /// # Errors
    /// The last attempt brought no answer, or one with another status than 2xx.
    pub(crate) async fn send(&self, request: &Request) -> Result<Vec<u8>> {
        self.repeat(request.operation, async || self.send_once(request).await).await
    }

    /// Makes a request once and reads the whole answer.
    ///
    /// # Errors
    /// No answer, or one with another status than 2xx.
    pub(crate) async fn send_once(&self, request: &Request) -> Result<Vec<u8>> {
        self.open(request).await?.read_to_end().await
    }

    /// Makes attempts until one succeeds, or fails for good.
    pub(crate) async fn repeat<T>(
        &self,
        operation: Operation,
        attempt: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        self.repeat_while(operation, |_| true, attempt).await
    }

    /// The same, as long as another attempt could do no harm: where it could, not even the caller is
    /// asked.
    pub(crate) async fn repeat_while<T>(
        &self,
        operation: Operation,
        may_repeat: impl Fn(&Error) -> bool,
        mut attempt: impl AsyncFnMut() -> Result<T>,
    ) -> Result<T> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) if !may_repeat(&error) => return Err(error),
                Err(error) => self.before_another(operation, attempts, error).await?,
            }
        }
    }

    /// The pause after so many attempts that failed.
    ///
    /// # Errors
    /// `error`, where there is to be no other attempt.
    async fn before_another(
        &self,
        operation: Operation,
        attempts: u32,
        error: Box<Error>,
    ) -> Result<()> {
        let retry = self.retry();
        if attempts >= retry.backoff.max_attempts || !error.is_answer() {
            return Err(error);
        }
        let delay_ms = retry.delay(attempts, &error);
        let failure = Failure { operation, attempt: attempts, error: &error, delay_ms };
        match retry.verdict(&failure, is_worth_repeating(&error)).await? {
            Some(delay_ms) => self.pause(delay_ms).await,
            None => Err(error),
        }
    }

    /// Waits, unless it is closed meanwhile.
    pub(crate) async fn pause(&self, milliseconds: f64) -> Result<()> {
        let cancel = self.in_flight.begin()?;
        let mut closing = Abort::listen(cancel.signal());
        let closed = pin!(closing.aborted());
        match select(pin!(sleep(milliseconds)), closed).await {
            Either::Left(_) => Ok(()),
            Either::Right(_) => Err(Error::Closed.into()),
        }
    }

    /// Makes a request once and leaves the answer's body to be read.
    ///
    /// # Errors
    /// No answer, one with another status than 2xx, or one of another kind than was asked for.
    pub(crate) async fn open(&self, request: &Request) -> Result<Body> {
        let Agent { url, fetch, .. } = &*self.agent;
        let operation = request.operation;
        let cancel = self.in_flight.begin()?;
        let no_answer = |thrown| self.no_answer(operation, &cancel, thrown);
        let init = self.init(request, &cancel).map_err(no_answer)?;
        let response = async {
            let address = format!("{url}{}", request.path);
            let promise = fetch.call2(&JsValue::UNDEFINED, &address.into(), &init)?;
            JsFuture::from(Promise::resolve(&promise)).await
        };
        let response = pin!(response);
        let patience = if request.waits { f64::INFINITY } else { SILENCE };
        let response = match select(response, pin!(sleep(patience))).await {
            Either::Left((response, _)) => response.map_err(no_answer)?,
            Either::Right(_) => {
                return Err(self.silent(operation, &cancel, "no answer within 45 s"));
            }
        };
        let answer: Answer = response.unchecked_into();
        let status = answer.http_status().map_err(no_answer)?;
        let reader = answer.reader().map_err(no_answer)?;
        let transport = self.clone();
        let media_type = MediaType::Json;
        let mut body = Body {
            media_type,
            transport,
            operation,
            reader,
            cancel,
            opened: Date::now(),
            chunk: Vec::new(),
            unread: Vec::new(),
        };
        if !(200..300).contains(&status) {
            let text = body.read_up_to(MAX_ERROR_BODY).await?;
            let text = String::from_utf8_lossy(&text).into_owned();
            let retry_after = answer.header("retry-after").and_then(|value| retry_after(&value));
            return Err(refusal(operation, status, text, retry_after));
        }
        let content_type = answer.header("content-type");
        let expected = request.accept.media_types();
        let is_told = |media_type: &&MediaType| {
            content_type.as_deref().is_some_and(|told| is_media_type(told, media_type.name()))
        };
        if let Some(media_type) = expected.iter().find(is_told) {
            body.media_type = *media_type;
        } else {
            let beginning = body.read().await?.map(excerpt).unwrap_or_default();
            return Err(Error::Protocol {
                operation,
                problem: format!(
                    "the answer from {url} is {}, not {}: {beginning}",
                    content_type.as_deref().unwrap_or("of no stated type"),
                    request.accept.header(),
                ),
                excerpt: beginning,
            }
            .into());
        }
        Ok(body)
    }

    fn init(
        &self,
        request: &Request,
        cancel: &Cancel,
    ) -> std::result::Result<RequestInit, JsValue> {
        let headers = Object::assign(&Object::new(), &self.agent.headers);
        let set = |name: &str, value: &str| Reflect::set(&headers, &name.into(), &value.into());
        set("accept", &request.accept.header())?;
        if let Some(key) = &request.idempotency_key {
            set("idempotency-key", key)?;
        }
        let init = RequestInit::new();
        init.set_method(request.method.as_str());
        init.set_signal(Some(&cancel.signal()));
        if let Some(body) = &request.body {
            set("content-type", MediaType::Json.name())?;
            init.set_body(&body.into());
        }
        init.set_headers(&headers);
        Ok(init)
    }

    fn no_answer(&self, operation: Operation, cancel: &Cancel, thrown: JsValue) -> Box<Error> {
        cancel.explain(|| Error::Network {
            operation,
            url: self.agent.url.clone(),
            reason: describe(&thrown),
            never_sent: never_sent(&thrown),
            cause: host_value(thrown),
        })
    }

    /// The error of an answer that did not come, or not whole, although nothing says so but its absence.
    fn silent(&self, operation: Operation, cancel: &Cancel, reason: &str) -> Box<Error> {
        cancel.explain(|| Error::Network {
            operation,
            url: self.agent.url.clone(),
            reason: reason.to_owned(),
            never_sent: false,
            cause: None,
        })
    }
}

/// The body of an answer. Dropping it before all of it has come closes the connection.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) media_type: MediaType,
    transport: Transport,
    operation: Operation,
    /// None where the answer has no body.
    reader: Option<ChunkReader>,
    cancel: Cancel,
    /// When the answer began, in milliseconds.
    opened: f64,
    /// The newest chunk; its memory serves the next one.
    chunk: Vec<u8>,
    /// What was given back; it comes first.
    unread: Vec<u8>,
}

impl Body {
    /// The next chunk as the network gave it, never empty; None at the end.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn read(&mut self) -> Result<Option<&[u8]>> {
        if !self.unread.is_empty() {
            self.chunk = mem::take(&mut self.unread);
            return Ok(Some(&self.chunk));
        }
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        loop {
            let broken = |thrown| self.no_answer(thrown);
            let promise = reader.read().map_err(broken)?;
            let result = JsFuture::from(promise).await.map_err(broken)?;
            let get = |key: &str| Reflect::get(&result, &key.into()).map_err(broken);
            if get("done")?.is_truthy() {
                return Ok(None);
            }
            let bytes: Uint8Array = get("value")?.unchecked_into();
            if bytes.length() > 0 {
                self.chunk.resize(bytes.length() as usize, 0);
                bytes.copy_to(&mut self.chunk);
                return Ok(Some(&self.chunk));
            }
        }
    }

    /// The same; an `Err` of the outer kind says that nothing came for too long.
    pub(crate) async fn read_unless_silent(
        &mut self,
    ) -> std::result::Result<Result<Option<&[u8]>>, Silent> {
        let reading = pin!(self.read());
        match select(reading, pin!(sleep(SILENCE))).await {
            Either::Left((read, _)) => Ok(read),
            Either::Right(_) => Err(Silent),
        }
    }

    /// How long ago the answer began, in milliseconds.
    pub(crate) fn age(&self) -> f64 {
        Date::now() - self.opened
    }

    /// Gives back what was read: it is what the next read gives.
    pub(crate) fn unread(&mut self, bytes: Vec<u8>) {
        self.unread = bytes;
    }

    /// Has the rest read of an answer that has said all there is to say: its connection serves the next
    /// request then, and no browser shows the request as a failed one. Nobody waits for it. If the rest
    /// does not come the connection is closed.
    pub(crate) fn finish(mut self) {
        self.cancel.detach();
        if let Some(reader) = &self.reader {
            // Others than Node's have no such function.
            reader.unref().unwrap_or_default();
        }
        finish(async move { while let Ok(Some(_)) = self.read().await {} });
    }

    /// The error of an answer that is not as long as it has to be.
    pub(crate) fn cut(&self, reason: &str) -> Box<Error> {
        self.transport.silent(self.operation, &self.cancel, reason)
    }

    fn no_answer(&self, thrown: JsValue) -> Box<Error> {
        self.transport.no_answer(self.operation, &self.cancel, thrown)
    }

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
    async fn read_up_to(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < limit {
            let Ok(chunk) = self.read_unless_silent().await else {
                return Err(self.cut("the rest of the answer did not come within 45 s"));
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

/// Has something come to its end that is as good as over, unless that takes too long.
pub(crate) fn finish(rest: impl Future + 'static) {
    spawn_local(async move {
        // Unlike other timers this one keeps no process of Node.js.
        let mut too_late = Abort::listen(AbortSignal::timeout_with_u32(FINISH_TIMEOUT));
        select(pin!(rest), pin!(too_late.aborted())).await;
    });
}

/// Nothing came for so long that the connection may be dead.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Silent;

/// Whether a `Content-Type` names this media type. Its parameters don't matter: all is UTF-8.
pub(crate) fn is_media_type(content_type: &str, expected: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(expected)
}

/// The pause that a `Retry-After` header asks for, in milliseconds: a number of seconds, or a date
/// (RFC 9110, 10.2.3).
fn retry_after(value: &str) -> Option<f64> {
    let value = value.trim();
    if value.bytes().all(|byte| byte.is_ascii_digit()) && !value.is_empty() {
        // Beyond that it is too long anyhow.
        return Some(f64::from(value.parse::<u32>().unwrap_or(u32::MAX)) * 1000.0);
    }
    let date = Date::parse(value);
    (!date.is_nan()).then(|| (date - Date::now()).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_known_whatever_its_case_and_parameters() {
        for content_type in
            ["text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream ;x"]
        {
            assert!(is_media_type(content_type, "text/event-stream"), "{content_type}");
        }
        for content_type in ["text/event-stream-2", "text/html", ""] {
            assert!(!is_media_type(content_type, "text/event-stream"), "{content_type}");
        }
    }
}
