//! What the package's TypeScript does for the core.

use std::cell::RefCell;

use js_sys::{Array, Float64Array, JsString, Object, Promise};
use wasm_bindgen::{JsCast, prelude::*};

#[wasm_bindgen]
extern "C" {
    /// Its functions.
    #[wasm_bindgen(typescript_type = r"{
        makeError(className: keyof typeof import('./errors.js'), message: string, details: object): Error;
        makeEvents(outputs: string, timestamps: string, numbers: Float64Array): ExecStdout[];
        settle<T>(promise: Promise<T>): Promise<T>;
    }")]
    #[derive(Clone)]
    pub type Shim;

    /// Makes an error of a class, with a message and fields (with `hint` and `cause`).
    #[wasm_bindgen(method, catch, js_name = makeError)]
    pub(crate) fn make_error(
        this: &Shim,
        class_name: &str,
        message: &str,
        details: &Object,
    ) -> Result<JsValue, JsValue>;

    /// Makes events (`ExecStdout[]`) of what crosses. In `numbers` each event has five: where its output ends in `outputs`,
    /// where its timestamp ends in `timestamps` or NaN, its sequence number, 0 for stdout or 1 for stderr, and
    /// its exit code or NaN.
    #[wasm_bindgen(method, catch, js_name = makeEvents)]
    pub(crate) fn make_events(
        this: &Shim,
        outputs: &JsString,
        timestamps: &JsString,
        numbers: &Float64Array,
    ) -> Result<Array, JsValue>;

    /// The promise that a caller gets in place of another.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn settle(this: &Shim, promise: &Promise) -> Result<Promise, JsValue>;
}

thread_local! {
    static SHIM: RefCell<Shim> = RefCell::new(JsValue::UNDEFINED.unchecked_into());
}

/// Says what the functions are. To be called once, before anything else.
#[wasm_bindgen(js_name = useShim)]
pub fn use_shim(shim: Shim) {
    SHIM.set(shim);
}

pub(crate) fn shim() -> Shim {
    SHIM.with_borrow(Clone::clone)
}
