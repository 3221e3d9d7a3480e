//! The one file that touches `WebSocket`.

use std::pin::pin;

use futures_channel::mpsc::{UnboundedReceiver, unbounded};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use js_sys::Reflect;
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

use crate::sleep::sleep;

/// How long a connection may take to open, in milliseconds.
const OPENING: f64 = 15_000.0;

/// What happens to a WebSocket.
#[derive(Debug)]
pub(crate) enum Incoming {
    Open,
    /// A text frame; None for one that is no text.
    Frame(Option<String>),
    /// The last that comes; whether the other side closed it as it wished.
    End {
        clean: bool,
    },
}

/// An open WebSocket. Dropping it closes it.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: WebSocket,
    /// Alive as long as the socket may call it.
    listener: Closure<dyn FnMut(Event)>,
}

impl Socket {
    /// Whether there are WebSockets here: Node.js has them from version 22.
    pub(crate) fn exists() -> bool {
        Reflect::get(&js_sys::global(), &"WebSocket".into()).is_ok_and(|found| found.is_function())
    }

    /// Connects; also gives what comes. None where the way is not open to WebSockets: nobody is told
    /// why.
    pub(crate) async fn open(address: &str) -> Option<(Self, UnboundedReceiver<Incoming>)> {
        let socket = WebSocket::new(address).ok()?;
        let (sender, mut incoming) = unbounded();
        let listener = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            // By the type's name: not everywhere are the classes those of the global object.
            let happened = match event.type_().as_str() {
                "message" => {
                    let message: MessageEvent = event.unchecked_into();
                    Incoming::Frame(message.data().as_string())
                }
                "close" => {
                    let close: CloseEvent = event.unchecked_into();
                    Incoming::End { clean: close.was_clean() }
                }
                _ => Incoming::Open,
            };
            // Nobody may be listening any more.
            sender.unbounded_send(happened).unwrap_or_default();
        });
        let socket = Self { socket, listener };
        socket.listen(Some(socket.listener.as_ref().unchecked_ref()));

        match select(incoming.next(), pin!(sleep(OPENING))).await {
            Either::Left((Some(Incoming::Open), _)) => Some((socket, incoming)),
            _ => None,
        }
    }

    fn listen(&self, listener: Option<&js_sys::Function>) {
        self.socket.set_onopen(listener);
        self.socket.set_onmessage(listener);
        self.socket.set_onclose(listener);
    }

    /// Sends a text frame; says whether it is on its way. Whether it arrives nobody is told.
    pub(crate) fn send(&self, text: &str) -> bool {
        self.socket.ready_state() == WebSocket::OPEN && self.socket.send_with_str(text).is_ok()
    }

    pub(crate) fn close(&self) {
        // It can't fail: neither a code nor a reason is given.
        self.socket.close().unwrap_or_default();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.listen(None);
        self.close();
    }
}
