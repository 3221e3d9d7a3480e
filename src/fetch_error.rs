//! What `fetch` threw: whether the request can have been sent, and the reason in words.

use js_sys::Reflect;
use wasm_bindgen::JsValue;

/// Whether an error of Node's says that there was no connection at all, so that the agent can't have
/// seen the request. Browsers don't tell.
pub(crate) fn never_sent(thrown: &JsValue) -> bool {
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

/// What went wrong, as JS tells it: an error's message and those of its causes, of which there may
/// be a circle. Node's fetch says "fetch failed" and gives the reason as the cause.
pub(crate) fn describe(thrown: &JsValue) -> String {
    const MAX_CAUSES: usize = 4;
    let field = |error: &JsValue, key: &str| {
        Reflect::get(error, &key.into()).ok().filter(|value| !value.is_falsy())
    };
    let message = |error: &JsValue| {
        let message = field(error, "message").or_else(|| field(error, "code"));
        message.and_then(|text| text.as_string()).or_else(|| error.as_string())
    };
    let causes = std::iter::successors(Some(thrown.clone()), |error| field(error, "cause"));
    let messages: Vec<String> =
        causes.take(MAX_CAUSES).map_while(|error| message(&error)).collect();
    if messages.is_empty() { "unknown error".to_owned() } else { messages.join(": ") }
}
