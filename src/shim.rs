//! What the package's TypeScript does for the core.

use std::cell::RefCell;

use js_sys::{Array, Float64Array, Function, JsString, Object, Promise};
use wasm_bindgen::{JsCast, prelude::*};

#[wasm_bindgen]
extern "C" {
    /// Its functions.
    #[wasm_bindgen(typescript_type = r"{
        makeError(className: keyof typeof import('./errors.js'), message: string, details: object): Error;
        makeEvents(outputs: string | Uint8Array, timestamps: string, numbers: Float64Array): import('../events.js').OutputEvent<string | Uint8Array>[];
        makeResult(exitCode: number, output: string, runs: Uint32Array): ExecResult;
        collectBytes(): { append(bytes: Uint8Array): void; whole(): Uint8Array };
        settle<T>(promise: Promise<T>): Promise<T>;
        deliver(before: Promise<void> | undefined, events: unknown[], listener: (event: never) => unknown): Promise<void> | undefined;
        describe(value: unknown): string;
        suggest(name: string, known: readonly string[]): string;
        onAbort(signal: AbortSignal, listener: () => void): () => void;
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

    /// Makes events (`ExecStdout[]`) of what crosses. In `numbers` each event has five: where its output ends in `outputs` (text or bytes),
    /// where its timestamp ends in `timestamps` or NaN, its sequence number, 0 for stdout or 1 for stderr, and
    /// its exit code or NaN.
    #[wasm_bindgen(method, catch, js_name = makeEvents)]
    pub(crate) fn make_events(
        this: &Shim,
        outputs: &JsValue,
        timestamps: &JsString,
        numbers: &Float64Array,
    ) -> Result<Array, JsValue>;

    /// Makes an `ExecResult`. `runs` are the lengths of the parts of the output that are of one stream, stdout and stderr in
    /// turn; there are none where all is stdout.
    #[wasm_bindgen(method, catch, js_name = makeResult)]
    pub(crate) fn make_result(
        this: &Shim,
        exit_code: i32,
        output: &JsValue,
        runs: &[u32],
    ) -> Result<JsValue, JsValue>;

    /// What collects bytes piece by piece.
    #[wasm_bindgen(method, catch, js_name = collectBytes)]
    pub(crate) fn collect_bytes(this: &Shim) -> Result<CollectedBytes, JsValue>;

    /// Bytes, as they are collected.
    #[wasm_bindgen(typescript_type = "object")]
    pub(crate) type CollectedBytes;

    /// Appends a copy.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn append(this: &CollectedBytes, bytes: &[u8]) -> Result<(), JsValue>;

    /// All of them, as a `Uint8Array`.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn whole(this: &CollectedBytes) -> Result<JsValue, JsValue>;

    /// The promise that a caller gets in place of another.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn settle(this: &Shim, promise: &Promise) -> Result<Promise, JsValue>;

    /// Calls a listener with each event, when `before` has come to its end; a promise where that takes time.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn deliver(
        this: &Shim,
        before: Option<Promise>,
        events: &Array,
        listener: &Function,
    ) -> Result<Option<Promise>, JsValue>;

    /// Describes a wrong argument.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn describe(this: &Shim, value: &JsValue) -> Result<String, JsValue>;

    /// Asks whether a known name was meant by another; empty where none is like it.
    #[wasm_bindgen(method, catch)]
    pub(crate) fn suggest(this: &Shim, name: &str, known: Vec<String>) -> Result<String, JsValue>;

    /// Listens to a signal that has not been aborted; what it returns ends that.
    #[wasm_bindgen(method, catch, js_name = onAbort)]
    pub(crate) fn on_abort(
        this: &Shim,
        signal: &JsValue,
        listener: &JsValue,
    ) -> Result<Function, JsValue>;
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
