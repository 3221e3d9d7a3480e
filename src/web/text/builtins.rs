//! Strings by the JS String Builtins of WebAssembly, in a module of their own beside the core. With its
//! `TextDecoder` Chromium takes 25 % longer for an exec of 100 MB of coloured text, 39 % for its stream, and 14 % and
//! 22 % where the text is CJK (`text-decoder` in bench/RESULTS.md); all of this costs 830 bytes of gzip.

use js_sys::{Array, Function, JsString, Object, Reflect, Uint8Array, WebAssembly};
use wasm_bindgen::{JsCast, prelude::*};

/// `builtins.wat`.
const MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/builtins.wasm"));

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = WebAssembly)]
    type Module;

    #[wasm_bindgen(js_namespace = WebAssembly, constructor, catch)]
    fn new(bytes: &Uint8Array, options: &Object) -> Result<Module, JsValue>;
}

thread_local! {
    /// None where the engine has no builtins, or compiles nothing at run time.
    static STRING: Option<Function> = load().ok();
}

fn load() -> Result<Function, JsValue> {
    let options = object("builtins", &Array::of1(&"js-string".into()))?;
    let module = Module::new(&Uint8Array::from(MODULE), &options)?;
    let core = object("memory", &wasm_bindgen::memory())?;
    let imports = object("core", &core)?;
    let instance = WebAssembly::Instance::new(module.unchecked_ref(), &imports)?;
    Reflect::get(&instance.exports(), &"string".into())?.dyn_into()
}

fn object(name: &str, value: &JsValue) -> Result<Object, JsValue> {
    let object = Object::new();
    Reflect::set(&object, &name.into(), value)?;
    Ok(object)
}

/// The string of these units. None where there are no builtins, or they can't make it.
pub(super) fn string(units: &[u16]) -> Option<JsString> {
    STRING.with(|string| {
        let (from, length) = (units.as_ptr().addr().into(), units.len().into());
        let made = string.as_ref()?.call2(&JsValue::UNDEFINED, &from, &length);
        made.ok().map(JsCast::unchecked_into)
    })
}
