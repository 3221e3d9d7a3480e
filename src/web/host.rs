use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{LocalBoxFuture, select};
use js_sys::{Date, JsString};
use sandpipe_client::host::{HttpRequest, HttpResponse, NoResponse, Socket};
use sandpipe_client::output::Encoding;
use sandpipe_client::{Host, HostOutput, HostValue};
use sandpipe_text::Units;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

use super::abort::abort_signal;
use super::fetch::Fetch;
use super::text::units_to_js;
use super::value::js_value;
use super::{bytes, socket, timer};

/// The most UTF-16 code units that a string can hold in every engine: V8's limit, 2^29 - 24, is the
/// lowest.
const MAX_STRING_LENGTH: u32 = (1 << 29) - 24;

/// What a browser may hold of a file whose reader waits: Firefox (140) reads all of an answer ahead, Chromium 64 MB. It takes
/// long enough for another request not to matter.
const MAX_RANGE_BYTES: u64 = 32 * 1024 * 1024;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(catch, js_namespace = performance)]
    fn now() -> Result<f64, JsValue>;

    // Some browsers have no such function (Safari before 16).
    #[wasm_bindgen(catch, js_namespace = AbortSignal)]
    fn timeout(milliseconds: u32) -> Result<web_sys::AbortSignal, JsValue>;

    #[wasm_bindgen(js_namespace = crypto, js_name = getRandomValues)]
    fn get_random_values(bytes: &mut [u8]);
}

/// What the client needs, from the platform.
#[derive(Debug)]
struct WebHost {
    /// None for what runs scripts elsewhere and makes no requests.
    fetch: Option<Fetch>,
}

/// The host of a client that makes its requests with `fetch`.
pub(crate) fn web_host(fetch: Option<Fetch>) -> Rc<dyn Host> {
    Rc::new(WebHost { fetch })
}

impl Host for WebHost {
    fn send(
        &self,
        request: HttpRequest,
    ) -> LocalBoxFuture<'static, Result<HttpResponse, NoResponse>> {
        let fetch = self.fetch.clone();
        Box::pin(async move {
            match fetch {
                Some(fetch) => fetch.send(request).await,
                None => Err(NoResponse {
                    reason: "there is nothing to make requests with".to_owned(),
                    never_sent: true,
                    cause: None,
                }),
            }
        })
    }

    fn open_socket(&self, url: &str) -> LocalBoxFuture<'static, Option<Box<dyn Socket>>> {
        let url = url.to_owned();
        Box::pin(async move { socket::open(&url).await })
    }

    fn sleep(&self, ms: f64) -> LocalBoxFuture<'static, ()> {
        timer::sleep(ms)
    }

    fn now_ms(&self) -> f64 {
        now().unwrap_or_else(|_| Date::now())
    }

    fn ms_until(&self, http_date: &str) -> Option<f64> {
        let date = Date::parse(http_date);
        (!date.is_nan()).then(|| (date - Date::now()).max(0.0))
    }

    fn random_bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        get_random_values(&mut bytes);
        bytes
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        spawn_local(task);
    }

    fn linger(&self, task: LocalBoxFuture<'static, ()>, limit_ms: u32) {
        spawn_local(async move {
            // Unlike other timers that of a signal keeps no process of Node.js.
            match timeout(limit_ms).map(abort_signal) {
                Ok(limit) => drop(select(task, pin!(limit.aborted())).await),
                Err(_) => drop(select(task, timer::sleep(limit_ms.into())).await),
            }
        });
    }

    fn append_text(&self, text: &HostOutput, more: Units<'_>) -> Result<HostOutput, HostValue> {
        let more = units_to_js(more).map_err(HostValue::new)?;
        // Engines put a concatenated string together when it is first looked at: who looks at the exit code alone
        // does not pay for that.
        let text = text.value().map_or_else(|| JsValue::from_str(""), js_value);
        let whole = JsString::from(text).concat(&more);
        let length = whole.length();
        Ok(HostOutput::new(HostValue::new(JsValue::from(whole)), length, Encoding::Utf8))
    }

    fn append_bytes(&self, bytes: &HostOutput, more: &[u8]) -> Result<HostOutput, HostValue> {
        bytes::append(bytes, more).map_err(HostValue::new)
    }

    fn max_range_bytes(&self) -> u64 {
        MAX_RANGE_BYTES
    }

    fn max_text_length(&self) -> u32 {
        MAX_STRING_LENGTH
    }
}
