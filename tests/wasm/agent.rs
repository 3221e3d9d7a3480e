//! The agent that `scripts/suites/wasm.mjs` runs for these tests.

use js_sys::{Array, Function, Object, Promise, Reflect};
use sandpipe::{Sandbox, use_shim};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

/// What is looked at here of what js/events.ts does.
const MAKE_EVENTS: &str = "
    const events = [];
    for (let at = 0, start = 0; at < numbers.length; start = numbers[at], at += 5)
        events.push({ output: outputs.slice(start, numbers[at]), exitCode: numbers[at + 4] });
    return events;
";

/// Without its streams.
const MAKE_RESULT: &str = "return { exitCode, output }";

/// Of a class there is only the name here.
const MAKE_ERROR: &str = "return Object.assign(new Error(message), { name: className }, details)";

/// Of listeners that return no promise.
const DELIVER: &str = "events.forEach((event) => listener(event))";

const DESCRIBE: &str = "return `the ${typeof value} ${value}`";

const ON_ABORT: &str = "
    signal.addEventListener('abort', listener);
    return () => signal.removeEventListener('abort', listener);
";

/// A sandbox of the agent. A page has no environment to read: the compiler's is what counts.
pub(crate) fn sandbox() -> Sandbox {
    let url = option_env!("SANDPIPE_TEST_URL").expect("run by `npm test`");
    let token = option_env!("SANDPIPE_TEST_TOKEN").expect("run by `npm test`");
    connect(url, token)
}

pub(crate) fn connect(url: &str, token: &str) -> Sandbox {
    let make_error = Function::new_with_args("className, message, details", MAKE_ERROR);
    let make_events = Function::new_with_args("outputs, timestamps, numbers", MAKE_EVENTS);
    let make_result = Function::new_with_args("exitCode, output", MAKE_RESULT);
    let functions = [
        ("makeError", make_error.into()),
        ("makeEvents", make_events.into()),
        ("makeResult", make_result.into()),
        ("deliver", Function::new_with_args("before, events, listener", DELIVER).into()),
        ("describe", Function::new_with_args("value", DESCRIBE).into()),
        ("suggest", Function::new_no_args("return ''").into()),
        ("onAbort", Function::new_with_args("signal, listener", ON_ABORT).into()),
    ];
    use_shim(object(&functions).unchecked_into());
    Sandbox::new(&object(&[("url", url.into()), ("token", token.into())]), None).unwrap()
}

pub(crate) fn object(fields: &[(&str, JsValue)]) -> Object {
    let object = Object::new();
    for (name, value) in fields {
        Reflect::set(&object, &(*name).into(), value).unwrap();
    }
    object
}

pub(crate) fn strings(items: &[&str]) -> Array {
    items.iter().map(|item| JsValue::from_str(item)).collect()
}

/// An argument that is left out.
pub(crate) fn undefined<T: JsCast>() -> T {
    JsValue::UNDEFINED.unchecked_into()
}

/// A listener that does nothing.
pub(crate) fn nobody() -> Function {
    Function::new_no_args("")
}

pub(crate) fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap()
}

pub(crate) fn text(object: &JsValue, name: &str) -> String {
    field(object, name).as_string().unwrap_or_else(|| panic!("{name} is no text"))
}

pub(crate) async fn settled(promise: Promise) -> Result<JsValue, JsValue> {
    JsFuture::from(promise).await
}
