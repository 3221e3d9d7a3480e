//! The one file that touches `fetch`.

use std::rc::Rc;

use js_sys::{Function, Promise, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Headers, RequestInit};

use crate::answer::{Answer, ChunkReader};
use crate::closing::{Cancel, InFlight};
use crate::error::{Error, Result};
use crate::request::{Accept, Operation, Request, excerpt, refusal};

/// The most that is read of an answer that is read whole.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// The most that is read of an answer with an error: it may be any server's.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// The way to one agent. A clone is the same way.
#[derive(Clone, Debug)]
pub(crate) struct Transport {
    /// The agent's address, without a slash at its end.
    url: Rc<str>,
    fetch: Function,
    /// What every request carries, the token included.
    headers: Headers,
    in_flight: InFlight,
}

impl Transport {
    pub(crate) fn new(url: String, fetch: Function, headers: Headers) -> Self {
        Self { url: url.into(), fetch, headers, in_flight: InFlight::default() }
    }

    /// Ends all that is under way and refuses what comes after.
    pub(crate) fn close(&self) {
        self.in_flight.close();
    }

    /// Registers something that closing ends, for [`Transport::open`].
    pub(crate) fn begin(&self) -> Result<Cancel> {
        self.in_flight.begin()
    }

    /// Makes a request and reads the whole answer.
    ///
    /// # Errors
    /// No answer, or one with another status than 2xx.
    pub(crate) async fn send(&self, request: Request) -> Result<Vec<u8>> {
        self.open(request, self.begin()?).await?.read_to_end().await
    }

    /// Makes a request and leaves the answer's body to be read.
    ///
    /// # Errors
    /// No answer, one with another status than 2xx, or one of another kind than was asked for.
    pub(crate) async fn open(&self, request: Request, cancel: Cancel) -> Result<Body> {
        let operation = request.operation;
        let no_answer = |thrown| self.no_answer(operation, &cancel, thrown);
        let init = self.init(&request, &cancel).map_err(no_answer)?;
        let url = format!("{}{}", self.url, request.path);
        let response = async {
            let promise = self.fetch.call2(&JsValue::UNDEFINED, &url.into(), &init)?;
            JsFuture::from(Promise::resolve(&promise)).await
        };
        let answer: Answer = response.await.map_err(no_answer)?.unchecked_into();
        let status = answer.http_status().map_err(no_answer)?;
        let reader = answer.reader().map_err(no_answer)?;
        let mut body =
            Body { transport: self.clone(), operation, reader, cancel, chunk: Vec::new() };
        if !(200..300).contains(&status) {
            let text = body.read_up_to(MAX_ERROR_BODY).await?;
            let text = String::from_utf8_lossy(&text).into_owned();
            return Err(refusal(operation, status, text));
        }
        let content_type = answer.header("content-type");
        let expected = request.accept.media_type();
        if !content_type.as_deref().is_some_and(|actual| is_media_type(actual, expected)) {
            let beginning = body.read().await?.map(excerpt).unwrap_or_default();
            return Err(Error::Protocol {
                operation,
                problem: format!(
                    "the answer from {} is {}, not {expected}: {beginning}",
                    self.url,
                    content_type.as_deref().unwrap_or("of no stated type"),
                ),
                excerpt: beginning,
            });
        }
        Ok(body)
    }

    fn init(
        &self,
        request: &Request,
        cancel: &Cancel,
    ) -> std::result::Result<RequestInit, JsValue> {
        let headers = Headers::new_with_headers(&self.headers)?;
        headers.set("accept", request.accept.media_type())?;
        let init = RequestInit::new();
        init.set_method(request.method.as_str());
        init.set_signal(Some(&cancel.signal()));
        if let Some(body) = &request.body {
            headers.set("content-type", Accept::Json.media_type())?;
            init.set_body(&body.into());
        }
        init.set_headers(&headers);
        Ok(init)
    }

    fn no_answer(&self, operation: Operation, cancel: &Cancel, thrown: JsValue) -> Error {
        cancel.explain(|| Error::Network {
            operation,
            url: self.url.to_string(),
            reason: describe(&thrown),
            cause: thrown,
        })
    }
}

/// The body of an answer. Dropping it before its end closes the connection.
#[derive(Debug)]
pub(crate) struct Body {
    transport: Transport,
    operation: Operation,
    /// None where the answer has no body.
    reader: Option<ChunkReader>,
    cancel: Cancel,
    /// The newest chunk; its memory serves the next one.
    chunk: Vec<u8>,
}

impl Body {
    /// The next chunk as the network gave it, never empty; None at the end.
    ///
    /// # Errors
    /// The connection broke.
    pub(crate) async fn read(&mut self) -> Result<Option<&[u8]>> {
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        loop {
            let broken = |thrown| self.transport.no_answer(self.operation, &self.cancel, thrown);
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

    async fn read_to_end(&mut self) -> Result<Vec<u8>> {
        let whole = self.read_up_to(MAX_BODY).await?;
        if whole.len() < MAX_BODY {
            return Ok(whole);
        }
        Err(Error::Protocol {
            operation: self.operation,
            problem: format!("the answer is larger than {MAX_BODY} bytes"),
            excerpt: excerpt(&whole),
        })
    }

    /// Reads no more than a certain number of bytes; the rest is left.
    async fn read_up_to(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while bytes.len() < limit
            && let Some(chunk) = self.read().await?
        {
            let room = limit - bytes.len();
            bytes.extend_from_slice(chunk.get(..room).unwrap_or(chunk));
        }
        Ok(bytes)
    }
}

/// Whether a `Content-Type` names this media type. Its parameters don't matter: all is UTF-8.
fn is_media_type(content_type: &str, expected: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(expected)
}

/// What went wrong, as JS tells it: an error's message and those of its causes, of which there may
/// be a circle. Node's fetch says "fetch failed" and gives the reason as the cause.
fn describe(thrown: &JsValue) -> String {
    const MOST_CAUSES: usize = 4;
    let field = |error: &JsValue, key: &str| {
        Reflect::get(error, &key.into()).ok().filter(|value| !value.is_falsy())
    };
    let message = |error: &JsValue| {
        let message = field(error, "message").or_else(|| field(error, "code"));
        message.and_then(|text| text.as_string()).or_else(|| error.as_string())
    };
    let causes = std::iter::successors(Some(thrown.clone()), |error| field(error, "cause"));
    let messages: Vec<String> =
        causes.take(MOST_CAUSES).map_while(|error| message(&error)).collect();
    if messages.is_empty() { "unknown error".to_owned() } else { messages.join(": ") }
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
