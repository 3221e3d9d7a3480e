//! The one file that touches `fetch`.
//!
//! gloo-net has requests for the global `fetch` alone, and panics on what is no `Response` of the global class: neither a caller's
//! `connect({ fetch })` nor `node:http` could serve it. An exec of 100 MB takes Node.js's `fetch` 15 to 23 % longer than
//! `node:http`, and 22 to 25 % more of the processor.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use js_sys::{Function, Object, Promise, Reflect, Uint8Array};
use sandpipe_client::host::{Body, FileHead, HttpRequest, HttpResponse, NoResponse, RequestBody};
use sandpipe_client::{AbortSignal, Subscription};
use wasm_bindgen::{JsCast, prelude::*};
use wasm_bindgen_futures::JsFuture;
use web_sys::{AbortController, DomException, RequestInit};

use super::response::{JsBodyReader, JsResponse};
use super::value::{host_value, js_value};

const BYTES: &str = "application/octet-stream";

thread_local! {
    /// The reason of every request that is over. Each could have one of its own, with its stack, which takes
    /// longer than all the rest of an abort.
    static OVER: JsValue =
        DomException::new_with_message_and_name("the request is over", "AbortError")
            .map_or_else(JsValue::from, JsValue::from);
}

/// A `fetch`, of the caller's, the runtime's or the global one, and what every request of it carries.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    pub(crate) function: Function,
    /// The token included: values by names in lower case.
    pub(crate) headers: Object,
    /// The memory of the last large body, for the next one.
    pub(crate) body_memory: Rc<RefCell<Option<Uint8Array>>>,
}

/// How large a body is at least, in bytes, whose memory is used again: engines let go of such memory late.
const LARGE_BODY: u32 = 256 * 1024;

impl Fetch {
    pub(super) async fn send(self, request: HttpRequest) -> Result<HttpResponse, NoResponse> {
        self.respond(request).await.map_err(no_response)
    }

    async fn respond(self, request: HttpRequest) -> Result<HttpResponse, JsValue> {
        let connection = Connection::new(&request.cancel)?;
        let (init, memory) = self.init(&request, &connection)?;
        let promise = self.function.call2(&JsValue::UNDEFINED, &request.url.into(), &init)?;
        let response = JsFuture::from(Promise::resolve(&promise)).await?;
        let response: JsResponse = response.unchecked_into();
        let status = response.http_status()?;
        let is_success = (200..300).contains(&status);
        if is_success && memory.is_some() {
            // Who has done what the body asks for reads it no more.
            self.body_memory.replace(memory);
        }
        let reader = response.reader()?;
        let body = reader.map(|reader| -> Box<dyn Body> {
            Box::new(WebBody { reader, reading: None, _connection: connection })
        });
        let content_type = response.header("content-type");
        let retry_after = if is_success { None } else { response.header("retry-after") };
        let is_bytes = content_type.as_deref().is_some_and(|name| name.starts_with(BYTES));
        let file = if is_bytes { file_head(&response) } else { FileHead::default() };
        Ok(HttpResponse { status, content_type, retry_after, file, body })
    }

    /// What `fetch` is called with, and the memory of a large body.
    fn init(
        &self,
        request: &HttpRequest,
        connection: &Connection,
    ) -> Result<(RequestInit, Option<Uint8Array>), JsValue> {
        let headers = Object::assign(&Object::new(), &self.headers);
        let set = |name: &str, value: &str| Reflect::set(&headers, &name.into(), &value.into());
        set("accept", request.accept)?;
        if let Some(key) = &request.idempotency_key {
            set("idempotency-key", key)?;
        }
        for (name, value) in &request.headers {
            set(name, value)?;
        }
        let init = RequestInit::new();
        let mut memory = None;
        init.set_method(request.method.as_str());
        init.set_signal(Some(&connection.controller.signal()));
        match &request.body {
            Some(RequestBody::Json(json)) => {
                set("content-type", "application/json")?;
                init.set_body(&json.into());
            }
            Some(RequestBody::Bytes(bytes)) => {
                set("content-type", BYTES)?;
                let array = self.body_array(bytes);
                init.set_body(&array.1);
                memory = array.0;
            }
            Some(RequestBody::Tar(source)) => {
                set("content-type", "application/x-tar")?;
                let stream = (source.0)().map_err(|thrown| js_value(&thrown))?;
                init.set_body(&js_value(&stream));
                // What `fetch` wants to be told of a body that is a stream (Fetch standard, "RequestDuplex").
                Reflect::set(&init, &"duplex".into(), &"half".into())?;
            }
            None => {}
        }
        init.set_headers(&headers);
        Ok((init, memory))
    }

    /// A copy of a body, and the memory that it is in where that is to be used again.
    fn body_array(&self, bytes: &[u8]) -> (Option<Uint8Array>, Uint8Array) {
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        if length < LARGE_BODY {
            return (None, Uint8Array::from(bytes));
        }
        let last = self.body_memory.take().filter(|memory| memory.length() >= length);
        let memory = last.unwrap_or_else(|| Uint8Array::new_with_length(length));
        let array = memory.subarray(0, length);
        array.copy_from(bytes);
        (Some(memory), array)
    }
}

fn file_head(response: &JsResponse) -> FileHead {
    FileHead {
        etag: response.header("etag"),
        content_range: response.header("content-range"),
        content_length: response.header("content-length"),
    }
}

/// A request that is under way. Dropping it ends it, if it has not ended by itself.
struct Connection {
    controller: AbortController,
    _cancelled: Subscription,
}

impl Connection {
    fn new(cancel: &AbortSignal) -> Result<Self, JsValue> {
        let controller = AbortController::new()?;
        let own = controller.clone();
        let cancelled = cancel.on_abort(move || own.abort());
        Ok(Self { controller, _cancelled: cancelled })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        OVER.with(|over| self.controller.abort_with_reason(over));
    }
}

/// The body of a `Response`.
struct WebBody {
    reader: JsBodyReader,
    /// The chunk that is asked for: a read that is given up loses nothing.
    reading: Option<JsFuture>,
    _connection: Connection,
}

impl Body for WebBody {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        chunk: &mut Vec<u8>,
    ) -> Poll<Result<(), NoResponse>> {
        loop {
            let reading = match &mut self.reading {
                Some(reading) => reading,
                none => {
                    let promise = self.reader.read().map_err(no_response)?;
                    none.insert(JsFuture::from(promise))
                }
            };
            let read = ready!(reading.poll_unpin(context));
            self.reading = None;
            if take_chunk(&read.map_err(no_response)?, chunk).map_err(no_response)? {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn unref(&mut self) {
        // Others than Node's have no such function.
        self.reader.unref().unwrap_or_default();
    }
}

/// Copies what a read has given, nothing at the end; says whether there is anything to hand on.
fn take_chunk(read: &JsValue, chunk: &mut Vec<u8>) -> Result<bool, JsValue> {
    if Reflect::get(read, &"done".into())?.is_truthy() {
        chunk.clear();
        return Ok(true);
    }
    let bytes: Uint8Array = Reflect::get(read, &"value".into())?.unchecked_into();
    chunk.resize(bytes.length() as usize, 0);
    bytes.copy_to(chunk);
    Ok(!chunk.is_empty())
}

fn no_response(thrown: JsValue) -> NoResponse {
    NoResponse {
        reason: describe(&thrown),
        never_sent: never_sent(&thrown),
        cause: host_value(thrown),
    }
}

/// Whether an error of Node's says that there was no connection at all, so that the agent can't have
/// seen the request. Browsers don't say.
fn never_sent(thrown: &JsValue) -> bool {
    // The codes of a failed `connect` are also those by which established connections end.
    system_field(thrown, "syscall").as_deref() == Some("connect")
        || matches!(
            system_field(thrown, "code").as_deref(),
            Some("ECONNREFUSED" | "ENOTFOUND" | "EAI_AGAIN" | "UND_ERR_CONNECT_TIMEOUT")
        )
}

/// A field of the error of Node's system that was thrown, or that caused it, as with its `fetch`.
fn system_field(thrown: &JsValue, key: &str) -> Option<String> {
    let field = |error: &JsValue| Reflect::get(error, &key.into()).ok()?.as_string();
    field(thrown).or_else(|| field(&Reflect::get(thrown, &"cause".into()).ok()?))
}

/// What went wrong, in the words of JS: an error's message and those of its causes, of which there may
/// be a circle. Node's fetch says "fetch failed" and gives the reason as the cause.
fn describe(thrown: &JsValue) -> String {
    const MAX_CAUSES: usize = 4;
    let field = |error: &JsValue, key: &str| {
        Reflect::get(error, &key.into()).ok().filter(|value| !value.is_falsy())
    };
    let message = |error: &JsValue| {
        let message = field(error, "message").or_else(|| field(error, "code"));
        message.and_then(|text| text.as_string()).or_else(|| error.as_string())
    };
    let causes = std::iter::successors(Some(thrown.clone()), |error| field(error, "cause"));
    let messages = causes.take(MAX_CAUSES).map_while(|error| message(&error));
    let all = messages.reduce(|all, message| format!("{all}: {message}"));
    all.unwrap_or_else(|| "unknown error".to_owned())
}
