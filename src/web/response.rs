//! What `fetch` resolves to. It may be a function of the caller's, so nothing of its answer is taken
//! for granted: a JS exception must not go through the module's own frames.

use js_sys::Promise;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// A `Response`, or what the caller's `fetch` has for one.
    pub(crate) type JsResponse;

    #[wasm_bindgen(method, getter, catch)]
    fn status(this: &JsResponse) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, getter, catch)]
    fn headers(this: &JsResponse) -> Result<JsHeaders, JsValue>;

    #[wasm_bindgen(method, getter, catch)]
    fn body(this: &JsResponse) -> Result<JsBody, JsValue>;

    type JsHeaders;

    #[wasm_bindgen(method, catch)]
    fn get(this: &JsHeaders, name: &str) -> Result<JsValue, JsValue>;

    type JsBody;

    #[wasm_bindgen(method, catch, js_name = getReader)]
    fn get_reader(this: &JsBody) -> Result<JsBodyReader, JsValue>;

    /// A `ReadableStreamDefaultReader`.
    #[derive(Debug)]
    pub(crate) type JsBodyReader;

    #[wasm_bindgen(method, catch)]
    pub(crate) fn read(this: &JsBodyReader) -> Result<Promise, JsValue>;

    /// Lets the process end although the rest has not come: of the package's own, in Node.js.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn unref(this: &JsBodyReader) -> Result<(), JsValue>;
}

impl JsResponse {
    /// The HTTP status; an error where this is no answer at all.
    pub(crate) fn http_status(&self) -> Result<u16, JsValue> {
        let status = self.status()?;
        let is_status = |number: &f64| (100.0..1000.0).contains(number);
        let number = status.as_f64().filter(is_status);
        // Exact: it is a whole number of three digits.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        number.map(|number| number as u16).ok_or_else(|| {
            js_sys::Error::new("`fetch` resolved something that is no Response").into()
        })
    }

    /// A header of the answer, if it has it.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers().and_then(|headers| headers.get(name)).ok()?.as_string()
    }

    /// What reads the body; None where there is none.
    pub(crate) fn reader(&self) -> Result<Option<JsBodyReader>, JsValue> {
        let body = self.body()?;
        if body.is_null() || body.is_undefined() {
            return Ok(None);
        }
        body.get_reader().map(Some)
    }
}
