//! The root client.

use std::rc::Rc;

use js_sys::{Function, JsString, Object, Promise, Reflect};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sandpipe_client::execs::{run_script, run_script_and_forget};
use sandpipe_client::http::{HttpClient, RetryPolicy};
use sandpipe_client::{Agent, Result, sessions};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{Headers, Url};

use crate::arguments::{abort_signal, function, shell_text, string};
use crate::callbacks::retry_hooks::read_retry;
use crate::errors::or_throw;
use crate::fields::{Options, only_option, options, texts};
use crate::invalid_argument::{invalid, wrong};
use crate::promise::promise_of;
use crate::results::run_result;
use crate::sessions::Sessions;
use crate::web::Fetch;
use crate::web::host::web_host;
use crate::web::socket::has_websockets;
use crate::web::value::thrown;

/// The client of one agent: it hands out a client for each noun of the agent's interface.
#[wasm_bindgen]
pub struct Sandbox {
    pub(crate) agent: Agent,
    /// What every request carries, the token among it.
    pub(crate) headers: Object,
    sessions: Sessions,
}

#[wasm_bindgen]
impl Sandbox {
    /// A client of the agent that `options` names. It makes no request. Those that it makes later go by `fetch`, where it
    /// is given: in place of that of the options, and of the global one.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "SandboxOptions")] options: &Object,
        fetch: Option<Function>,
    ) -> std::result::Result<Self, JsValue> {
        or_throw(read_options(options, fetch))
    }

    /// The shells that remember.
    #[wasm_bindgen(getter)]
    #[must_use]
    pub fn sessions(&self) -> Sessions {
        self.sessions.clone()
    }

    /// Runs a script with `sh` to its end. With `forget` its exec is deleted at the end: the script leaves nothing behind.
    #[wasm_bindgen(unchecked_return_type = "Promise<RunResult>")]
    pub fn run(
        &self,
        script: &JsString,
        #[wasm_bindgen(unchecked_param_type = "{ signal?: AbortSignal } | undefined")]
        options: &Object,
        forget: bool,
    ) -> Promise {
        let ended = shell_text(script, "script").and_then(|script| {
            let signal = only_option(options, "signal", abort_signal)?;
            let run = if forget { run_script_and_forget } else { run_script };
            Ok(run(&self.agent, script, signal))
        });
        promise_of(ended, |(_, result)| run_result(result))
    }

    /// What the agent's commands may touch.
    #[wasm_bindgen(unchecked_return_type = "Promise<string | undefined>")]
    pub fn policy(&self) -> Promise {
        promise_of(Ok(self.agent.policy()), |policy| {
            Ok(policy.map_or(JsValue::UNDEFINED, JsValue::from))
        })
    }

    /// Ends every request that is under way and refuses new ones. Sessions end; running commands go on.
    pub fn close(&self) {
        self.agent.close();
        self.sessions.0.end_all();
    }
}

options! {
    /// What to connect to, and how.
    interface "SandboxOptions"
    struct SandboxOptions {
        /// The agent's address, such as `http://127.0.0.1:57468`; a path is kept as a prefix.
        "url" ": string | URL" => url: String = required address,
        /// The agent's token.
        "token" "?: string" => token: Option<String> = optional token,
        /// What makes the requests. Default: in Node.js `node:http`, with the options that its global agents have
        /// when the package is loaded; elsewhere the global `fetch`. Requests to loopback go through no proxy,
        /// others as the runtime sends its own. For undici's dispatchers, or a `fetch` that is
        /// mocked: `(...args) => fetch(...args)`. How long that waits for an answer (undici: 300 s) is how long
        /// a process may leave its input unread.
        "fetch" "?: Fetch" => fetch: Option<Function> = optional function,
        /// Headers that every request carries.
        "headers" "?: Record<string, string>" => headers: Option<Object> = optional headers,
        /// When a request is made again, and how a broken stream is resumed.
        "retry" "?: RetryOptions" => retry: RetryPolicy = optional read_retry or RetryPolicy::default(),
    }
}

fn read_options(options: &JsValue, guarded_fetch: Option<Function>) -> Result<Sandbox> {
    let SandboxOptions { url, token, fetch, headers, retry } =
        SandboxOptions::read_required(options, "options")?;
    // What the caller's `fetch` and headers do, no WebSocket does.
    let socket_query = (fetch.is_none() && headers.is_none() && has_websockets())
        .then(|| token.as_deref().map_or_else(String::new, socket_token));
    let function = guarded_fetch.or(fetch).map_or_else(global_fetch, Ok)?;
    let headers = headers.unwrap_or_default();
    if let Some(token) = token {
        set(&headers, "authorization", &format!("Bearer {token}"))?;
    }
    let fetch = Fetch { function, headers: headers.clone(), body_memory: Rc::default() };
    let agent = Agent::new(HttpClient::new(web_host(Some(fetch)), &url, socket_query, retry));
    let sessions = Sessions(sessions::Sessions::new(agent.clone()));
    Ok(Sandbox { agent, headers, sessions })
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
    let wrong = |expected| wrong(name, expected, &JsValue::from_str(&without_secrets(&text)));
    let url = Url::new(&text).map_err(|_| wrong(EXPECTED))?;
    if !matches!(url.protocol().as_str(), "http:" | "https:") {
        return Err(wrong(EXPECTED));
    }
    if !url.search().is_empty() || !url.hash().is_empty() || !url.username().is_empty() {
        return Err(wrong(
            "an agent's address alone, such as \"http://127.0.0.1:57468\", with the token as `options.token`",
        ));
    }
    Ok(format!("{}{}", url.origin(), url.pathname().trim_end_matches('/')))
}

/// Leaves out of an address what may be a token or a password: what follows `?` or `#`, and a user.
fn without_secrets(address: &str) -> String {
    let shown = address.split_inclusive(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) =
        shown.split_once("://").map_or(("", shown), |(scheme, rest)| (scheme, rest));
    let host = rest.split_once('@').map(|(_, host)| host);
    let cut = if shown.len() < address.len() { "…" } else { "" };
    host.map_or_else(|| format!("{shown}{cut}"), |host| format!("{scheme}://…@{host}{cut}"))
}

/// What a request has of its own, and what is the connection's (RFC 9110, 7.6.1 and 10.1.1).
const CONNECTION_HEADERS: [&str; 8] = [
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
    for (key, text) in texts(value, name, string)? {
        // The value may be a secret: it is in no error message.
        let wrong = |expected, actual| invalid(&format!("{name}.{key}"), expected, actual);
        let field = key.to_ascii_lowercase();
        if CONNECTION_HEADERS.contains(&field.as_str()) {
            return Err(wrong("left out", "a header that the connection sets"));
        }
        // RFC 9110, 5.5.
        let has_control = text.chars().any(|char| char.is_ascii_control() && char != '\t');
        if has_control || checked.append(&key, &text).is_err() {
            return Err(wrong("a header that HTTP allows", "not"));
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
        return Err(invalid(name, "visible ASCII characters without spaces", "not"));
    }
    Ok(token)
}

fn global_fetch() -> Result<Function> {
    let fetch = Reflect::get(&js_sys::global(), &"fetch".into()).map_err(thrown)?;
    function(&fetch, "options.fetch")
}
