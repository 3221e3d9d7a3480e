use js_sys::{Function, Object, Reflect};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{Headers, Url};

use crate::arguments::{self, Fields, string};
use crate::errors::{or_throw, thrown};
use crate::execs::Execs;
use crate::retry::RetryPolicy;
use crate::sessions::Sessions;
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};

/// The client of one agent: it hands out a client for each noun of the agent's interface.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Sandbox {
    pub(crate) transport: Transport,
    sessions: Sessions,
}

#[wasm_bindgen]
impl Sandbox {
    /// A client of the agent that `options` names: `{ url, token?, fetch?, headers?, retry? }`. It makes
    /// no request. Where the options have no `fetch`, the runtime's is used, or the global one.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        options: &JsValue,
        runtimes_fetch: Option<Function>,
    ) -> std::result::Result<Self, JsValue> {
        let transport = or_throw(connect(options, runtimes_fetch))?;
        let sessions = Sessions::new(transport.clone());
        Ok(Self { transport, sessions })
    }

    /// The execs of the agent.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn execs(&self) -> Execs {
        Execs::new(self.transport.clone())
    }

    /// The shells that remember.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn sessions(&self) -> Sessions {
        self.sessions.clone()
    }

    /// Ends every request that is under way and refuses new ones. Sessions end; running commands go on.
    pub fn close(&self) {
        self.transport.in_flight.close();
        self.sessions.end_all();
    }
}

fn connect(options: &JsValue, runtimes_fetch: Option<Function>) -> Result<Transport> {
    let fields = Fields::of(options, "options")?;
    fields.only(&["url", "token", "fetch", "headers", "retry"])?;
    let url = fields.required("url", address)?;
    let own_fetch = fields.optional("fetch", arguments::function)?;
    let own_headers = fields.optional("headers", headers)?;
    let token = fields.optional("token", token)?;
    // What the caller's `fetch` and headers do, no WebSocket does.
    let socket_query = (own_fetch.is_none() && own_headers.is_none())
        .then(|| token.as_deref().map_or_else(String::new, socket_token));
    let fetch = own_fetch.or(runtimes_fetch).map_or_else(global_fetch, Ok)?;
    let headers = own_headers.unwrap_or_default();
    if let Some(token) = token {
        set(&headers, "authorization", &format!("Bearer {token}"))?;
    }
    let retry = fields.optional("retry", RetryPolicy::read)?.unwrap_or_default();
    Ok(Transport::new(url, fetch, headers, socket_query, retry))
}

/// A token in a WebSocket's query: a page can't give it headers.
fn socket_token(token: &str) -> String {
    format!("&token={}", utf8_percent_encode(token, NON_ALPHANUMERIC))
}

/// An agent's address, without a slash at its end.
fn address(value: &JsValue, name: &str) -> Result<String> {
    const EXPECTED: &str = "an agent's address such as \"http://127.0.0.1:57468\"";
    let text = match value.dyn_ref::<Url>() {
        Some(url) => url.href(),
        None => string(value, name)?,
    };
    let wrong = || arguments::wrong(name, EXPECTED, &JsValue::from_str(&text));
    let url = Url::new(&text).map_err(|_| wrong())?;
    let plain = url.search().is_empty() && url.hash().is_empty() && url.username().is_empty();
    if !plain || !matches!(url.protocol().as_str(), "http:" | "https:") {
        return Err(wrong());
    }
    Ok(format!("{}{}", url.origin(), url.pathname().trim_end_matches('/')))
}

/// What a request has of its own, and what is the connection's (RFC 9110, 7.6.1 and 10.1.1).
const NOT_THE_CALLERS: [&str; 8] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers by their names in lower case. They are kept in a plain object: with the first `Headers` Node
/// loads all of its `fetch`, so one is made only to check the caller's.
fn headers(value: &JsValue, name: &str) -> Result<Object> {
    let checked = Headers::new().map_err(thrown)?;
    let headers = Object::new();
    let fields = Fields::of(value, name)?;
    for key in fields.names() {
        let text = fields.required(&key, string)?;
        // The value may be a secret: it is in no error message.
        let wrong = |expected: &str, actual: &str| Error::InvalidArgument {
            name: format!("{name}.{key}"),
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        };
        let field = key.to_ascii_lowercase();
        if NOT_THE_CALLERS.contains(&field.as_str()) {
            return Err(wrong("left out", "a header that the connection sets").into());
        }
        // RFC 9110, 5.5.
        let has_control = text.chars().any(|char| char.is_ascii_control() && char != '\t');
        if has_control || checked.append(&key, &text).is_err() {
            return Err(wrong("a header that HTTP allows", "not").into());
        }
        let all = checked.get(&key).map_err(thrown)?.unwrap_or_default();
        set(&headers, &field, &all)?;
    }
    Ok(headers)
}

fn set(headers: &Object, name: &str, value: &str) -> Result<()> {
    Reflect::set(headers, &name.into(), &value.into()).map_err(thrown)?;
    Ok(())
}

/// A token as the `Authorization` header takes it (RFC 6750). It is in no error message.
fn token(value: &JsValue, name: &str) -> Result<String> {
    let token = string(value, name)?;
    let visible = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
    if !visible {
        return Err(Error::InvalidArgument {
            name: name.to_owned(),
            expected: "visible ASCII characters without spaces".to_owned(),
            actual: "not".to_owned(),
        }
        .into());
    }
    Ok(token)
}

fn global_fetch() -> Result<Function> {
    let fetch = Reflect::get(&js_sys::global(), &"fetch".into()).map_err(thrown)?;
    arguments::function(&fetch, "options.fetch")
}
