//! The client's abort signals made of those of JS.

use sandpipe_client::{AbortSignal, HostValue};
use wasm_bindgen::{JsCast, prelude::*};

use super::value::host_value;

/// A signal of JS and what listens to it. Dropping it ends the listening.
#[derive(Debug)]
struct Source {
    signal: web_sys::AbortSignal,
    /// None where the signal had been aborted before.
    listener: Option<Closure<dyn FnMut()>>,
}

/// The client's signal that is aborted with one of JS.
pub(crate) fn abort_signal(signal: web_sys::AbortSignal) -> AbortSignal {
    AbortSignal::of_source(|controller| {
        let aborted = signal.clone();
        let abort = move || controller.abort(host_value(aborted.reason()));
        let listener = if signal.aborted() {
            abort();
            None
        } else {
            let listener = Closure::once(abort);
            // It can't fail: the arguments are what the standard asks for.
            signal
                .add_event_listener_with_callback("abort", listener.as_ref().unchecked_ref())
                .unwrap_or_default();
            Some(listener)
        };
        HostValue::new(Source { signal, listener })
    })
}

/// The signal of JS that the client's was made of.
pub(crate) fn js_signal(signal: &AbortSignal) -> Option<web_sys::AbortSignal> {
    signal.source()?.downcast_ref::<Source>().map(|source| source.signal.clone())
}

impl Drop for Source {
    fn drop(&mut self) {
        if let Some(listener) = &self.listener {
            let function = listener.as_ref().unchecked_ref();
            self.signal.remove_event_listener_with_callback("abort", function).unwrap_or_default();
        }
    }
}
