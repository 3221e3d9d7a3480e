//! Waiting for an `AbortSignal`.

use futures_channel::oneshot;
use sandpipe_client::host_value::HostValue;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::AbortSignal;

use crate::errors::host_value;

/// Listens to a signal, and stops listening when it is dropped.
#[derive(Debug)]
pub(crate) struct Abort {
    signal: AbortSignal,
    /// None where the signal had been aborted before.
    listening: Option<Listening>,
}

#[derive(Debug)]
struct Listening {
    listener: Closure<dyn FnMut()>,
    told: oneshot::Receiver<()>,
}

impl Abort {
    pub(crate) fn listen(signal: AbortSignal) -> Self {
        if signal.aborted() {
            return Self { signal, listening: None };
        }
        let (tell, told) = oneshot::channel();
        let listener = Closure::once(move || {
            // Nobody may be waiting any more.
            tell.send(()).unwrap_or_default();
        });
        let function = listener.as_ref().unchecked_ref();
        // It can't fail: the arguments are what the standard asks for.
        signal.add_event_listener_with_callback("abort", function).unwrap_or_default();
        Self { signal, listening: Some(Listening { listener, told }) }
    }

    /// The reason of a signal that had been aborted before, if one was given.
    #[expect(clippy::option_option, reason = "an abort may have no reason")]
    pub(crate) fn aborted_before(&self) -> Option<Option<HostValue>> {
        self.listening.is_none().then(|| host_value(self.signal.reason()))
    }

    /// Resolves when the signal is aborted, with its reason.
    pub(crate) async fn aborted(&mut self) -> Option<HostValue> {
        if let Some(Listening { told, .. }) = &mut self.listening {
            // The sender lives as long as the listener does.
            told.await.unwrap_or_default();
        }
        host_value(self.signal.reason())
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(Listening { listener, .. }) = &self.listening {
            let function = listener.as_ref().unchecked_ref();
            self.signal.remove_event_listener_with_callback("abort", function).unwrap_or_default();
        }
    }
}
