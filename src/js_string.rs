//! Code units in the module's memory as a JS string.

use js_sys::{JsString, Reflect, Uint8Array, WebAssembly};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{TextDecoder, TextDecoderOptions};

use crate::error::{Error, Result};
use sandpipe_text::{Text, Units};

#[wasm_bindgen]
extern "C" {
    /// Node.js's: it copies units of a known width, where a `TextDecoder` looks at each.
    type Buffer;

    #[wasm_bindgen(static_method_of = Buffer, catch)]
    fn from(memory: &JsValue, offset: usize, length: usize)
    -> std::result::Result<Buffer, JsValue>;

    #[wasm_bindgen(method, catch, js_name = toString)]
    fn text(this: &Buffer, encoding: &str) -> std::result::Result<JsString, JsValue>;
}

thread_local! {
    static MAKER: Maker = Maker::find();
}

/// What makes strings here.
enum Maker {
    Node,
    /// `utf_16` is None where the platform knows UTF-8 alone.
    Web {
        utf_16: Option<TextDecoder>,
    },
}

impl Maker {
    fn find() -> Self {
        // A page may have a `Buffer`, too.
        let process = Reflect::get(&js_sys::global(), &"process".into());
        let versions = process.and_then(|process| Reflect::get(&process, &"versions".into()));
        let node = versions.and_then(|versions| Reflect::get(&versions, &"node".into()));
        if node.is_ok_and(|version| version.is_string()) {
            return Self::Node;
        }
        let options = TextDecoderOptions::new();
        // A byte order mark is a character of the output like any other.
        let set = Reflect::set(&options, &"ignoreBOM".into(), &true.into());
        let decoder =
            set.and_then(|_| TextDecoder::new_with_label_and_options("utf-16le", &options));
        Self::Web { utf_16: decoder.ok() }
    }
}

/// The string that a text is.
///
/// # Errors
/// It is longer than a JS string can be.
pub(crate) fn to_js_string(text: &Text) -> Result<JsString> {
    MAKER.with(|maker| make(maker, text.units())).map_err(Error::Thrown)
}

fn make(maker: &Maker, units: Units<'_>) -> std::result::Result<JsString, JsValue> {
    match (maker, units) {
        (Maker::Node, Units::Ascii(bytes) | Units::Latin1(bytes)) => {
            Buffer::from(&memory()?, bytes.as_ptr().addr(), bytes.len())?.text("latin1")
        }
        (Maker::Node, Units::Utf16(units)) => {
            Buffer::from(&memory()?, units.as_ptr().addr(), size_of_val(units))?.text("utf16le")
        }
        (Maker::Web { .. }, Units::Ascii(bytes)) => {
            // ASCII is what every decoder is quick at.
            Ok(JsString::from(&*String::from_utf8_lossy(bytes)))
        }
        (Maker::Web { utf_16 }, Units::Latin1(bytes)) => {
            let wide: Vec<u16> = bytes.iter().map(|byte| u16::from(*byte)).collect();
            decode(utf_16.as_ref(), &wide)
        }
        (Maker::Web { utf_16 }, Units::Utf16(units)) => decode(utf_16.as_ref(), units),
    }
}

fn decode(decoder: Option<&TextDecoder>, units: &[u16]) -> std::result::Result<JsString, JsValue> {
    let Some(decoder) = decoder else {
        return Ok(JsString::from(String::from_utf16_lossy(units)));
    };
    let (offset, length) = (units.as_ptr().addr(), size_of_val(units));
    let (Ok(offset), Ok(length)) = (u32::try_from(offset), u32::try_from(length)) else {
        return Ok(JsString::from(String::from_utf16_lossy(units)));
    };
    let view = Uint8Array::new_with_byte_offset_and_length(&memory()?, offset, length);
    Ok(decoder.decode_with_buffer_source(&view)?.into())
}

/// The module's memory as it is now: it moves when it grows.
fn memory() -> std::result::Result<JsValue, JsValue> {
    Ok(wasm_bindgen::memory().dyn_into::<WebAssembly::Memory>()?.buffer())
}
