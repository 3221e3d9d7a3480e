//! The client's abort signals made of those of JS.

use js_sys::Function;
use sandpipe_client::{AbortSignal, HostValue};
use wasm_bindgen::prelude::*;

use super::value::host_value;
use crate::shim::shim;

/// A signal of JS and what listens to it. Dropping it ends the listening.
#[derive(Debug)]
struct Source {
    signal: web_sys::AbortSignal,
    /// What listens, and what ends that. None where the signal had been aborted before.
    listening: Option<(Closure<dyn FnMut()>, Function)>,
}

/// The client's signal that is aborted with one of JS.
pub(crate) fn abort_signal(signal: web_sys::AbortSignal) -> AbortSignal {
    AbortSignal::of_source(|controller| {
        let aborted = signal.clone();
        let abort = move || controller.abort(host_value(aborted.reason()));
        let listening = if signal.aborted() {
            abort();
            None
        } else {
            let listener = Closure::once(abort);
            // It can't fail: the arguments are what the standard asks for.
            let end = shim().on_abort(&signal, listener.as_ref()).ok();
            end.map(|end| (listener, end))
        };
        HostValue::new(Source { signal, listening })
    })
}

/// The signal of JS that the client's was made of.
pub(crate) fn js_signal(signal: &AbortSignal) -> Option<web_sys::AbortSignal> {
    signal.source()?.downcast_ref::<Source>().map(|source| source.signal.clone())
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some((_, end)) = &self.listening {
            // It throws nothing.
            end.call0(&JsValue::UNDEFINED).unwrap_or_default();
        }
    }
}
