//! Code units in the module's memory as a JS string.

mod builtins;

use js_sys::{JsString, Object, Reflect, Uint8Array, WebAssembly};
use sandpipe_client::Result;
use sandpipe_text::{Text, Units};
use wasm_bindgen::{JsCast, prelude::*};

use super::value::thrown;

#[wasm_bindgen]
extern "C" {
    /// Node.js's: it copies units of a known width, where a `TextDecoder` looks at each. Of a bare `Buffer` some
    /// bundlers would make a dependency of pages.
    #[wasm_bindgen(js_namespace = globalThis)]
    type Buffer;

    #[wasm_bindgen(static_method_of = Buffer, js_namespace = globalThis, catch)]
    fn from(memory: &JsValue, offset: usize, length: usize)
    -> std::result::Result<Buffer, JsValue>;

    #[wasm_bindgen(method, catch, js_name = toString)]
    fn text(this: &Buffer, encoding: &str) -> std::result::Result<JsString, JsValue>;

    /// One whose strings stay in JS: those of `web_sys` are copied into the module's memory.
    type TextDecoder;

    #[wasm_bindgen(constructor, catch)]
    fn new(label: &str, options: &Object) -> std::result::Result<TextDecoder, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn decode(this: &TextDecoder, bytes: &Uint8Array) -> std::result::Result<JsString, JsValue>;
}

thread_local! {
    static IS_NODE: bool = is_node();
}

fn is_node() -> bool {
    // A page may have a `Buffer`, too.
    let process = Reflect::get(&js_sys::global(), &"process".into());
    let versions = process.and_then(|process| Reflect::get(&process, &"versions".into()));
    let node = versions.and_then(|versions| Reflect::get(&versions, &"node".into()));
    node.is_ok_and(|version| version.is_string())
}

/// The string that a text is.
///
/// # Errors
/// It is longer than a JS string can be.
pub(crate) fn to_js_string(text: &Text) -> Result<JsString> {
    units_to_js(text.units()).map_err(thrown)
}

/// The same, of code units.
pub(super) fn units_to_js(units: Units<'_>) -> std::result::Result<JsString, JsValue> {
    let decode_units = if IS_NODE.with(|is_node| *is_node) { in_node } else { on_the_web };
    // A handle of a JS object may be one more than the module has room for. The memory grows and moves
    // then, and what is made of a view of it is empty. For the next try there is room.
    for _ in 0..3 {
        let string = decode_units(units)?;
        if string.length() as usize == units.length() {
            return Ok(string);
        }
    }
    Err(js_sys::Error::new("a text could not be made a string").into())
}

fn in_node(units: Units<'_>) -> std::result::Result<JsString, JsValue> {
    let (offset, length, encoding) = match units {
        Units::Ascii(bytes) | Units::Latin1(bytes) => {
            (bytes.as_ptr().addr(), bytes.len(), "latin1")
        }
        Units::Utf16(units) => (units.as_ptr().addr(), size_of_val(units), "utf16le"),
    };
    Buffer::from(&memory()?, offset, length)?.text(encoding)
}

fn on_the_web(units: Units<'_>) -> std::result::Result<JsString, JsValue> {
    match units {
        // ASCII is what every decoder is quick at.
        Units::Ascii(bytes) => decode("utf-8", bytes.as_ptr().addr(), bytes.len()),
        Units::Latin1(bytes) => {
            let wide: Vec<u16> = bytes.iter().map(|byte| u16::from(*byte)).collect();
            on_the_web(Units::Utf16(&wide))
        }
        Units::Utf16(units) => match builtins::string(units) {
            Some(string) => Ok(string),
            None => decode("utf-16le", units.as_ptr().addr(), size_of_val(units))
                // Some platforms know UTF-8 alone.
                .or_else(|_| Ok(JsString::from(String::from_utf16_lossy(units)))),
        },
    }
}

/// Each time with a decoder of its own: Safari's fail when they have decoded 2 GiB.
fn decode(label: &str, offset: usize, length: usize) -> std::result::Result<JsString, JsValue> {
    let too_large = |_| JsValue::from("a text is larger than the module's memory");
    let offset = u32::try_from(offset).map_err(too_large)?;
    let length = u32::try_from(length).map_err(too_large)?;
    let view = Uint8Array::new_with_byte_offset_and_length(&memory()?, offset, length);
    let options = Object::new();
    // A byte order mark is a character of the output like any other.
    Reflect::set(&options, &"ignoreBOM".into(), &true.into())?;
    TextDecoder::new(label, &options)?.decode(&view)
}

/// The module's memory as it is now: it moves when it grows.
fn memory() -> std::result::Result<JsValue, JsValue> {
    Ok(wasm_bindgen::memory().dyn_into::<WebAssembly::Memory>()?.buffer())
}
