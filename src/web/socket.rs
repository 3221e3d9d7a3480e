//! The one file that touches `WebSocket`.
//!
//! gloo-net's (0.7) would be 40 lines fewer here and 7,200 bytes more in the module (2,500 of gzip). And it can't be dropped
//! in Node.js 22, which has no `CloseEvent`: its listener for `close` stays, and is called after it was freed, an exception
//! that nobody catches.

use std::task::{Context, Poll, ready};

use futures_channel::mpsc::{UnboundedReceiver, unbounded};
use futures_util::StreamExt;
use js_sys::Reflect;
use sandpipe_client::host::{Socket, SocketMessage};
use wasm_bindgen::{JsCast, prelude::*};
use web_sys::{CloseEvent, Event, MessageEvent, WebSocket};

/// What happens to a WebSocket.
#[derive(Debug)]
enum Happened {
    Open,
    Message(SocketMessage),
}

/// An open WebSocket. Dropping it closes it.
#[derive(Debug)]
struct WebSocketConnection {
    socket: WebSocket,
    /// Alive as long as the socket may call it.
    listener: Closure<dyn FnMut(Event)>,
    incoming: UnboundedReceiver<Happened>,
}

/// Whether there are WebSockets here: Node.js has them from version 22.
pub(crate) fn has_websockets() -> bool {
    Reflect::get(&js_sys::global(), &"WebSocket".into()).is_ok_and(|found| found.is_function())
}

/// Connects. None where WebSockets don't get through: browsers don't say why.
pub(super) async fn open(address: &str) -> Option<Box<dyn Socket>> {
    let mut connection = WebSocketConnection::new(WebSocket::new(address).ok()?);
    match connection.incoming.next().await {
        Some(Happened::Open) => Some(Box::new(connection)),
        _ => None,
    }
}

impl WebSocketConnection {
    fn new(socket: WebSocket) -> Self {
        let (sender, incoming) = unbounded();
        let listener = Closure::<dyn FnMut(Event)>::new(move |event: Event| {
            // By the type's name: not everywhere are the classes those of the global object.
            let happened = match event.type_().as_str() {
                "message" => {
                    let message: MessageEvent = event.unchecked_into();
                    let text = message.data().as_string();
                    Happened::Message(text.map_or(SocketMessage::NotText, SocketMessage::Text))
                }
                "close" => {
                    let close: CloseEvent = event.unchecked_into();
                    Happened::Message(SocketMessage::Closed { clean: close.was_clean() })
                }
                _ => Happened::Open,
            };
            // Nobody may be listening any more.
            sender.unbounded_send(happened).unwrap_or_default();
        });
        let connection = Self { socket, listener, incoming };
        connection.listen(Some(connection.listener.as_ref().unchecked_ref()));
        connection
    }

    fn listen(&self, listener: Option<&js_sys::Function>) {
        self.socket.set_onopen(listener);
        self.socket.set_onmessage(listener);
        self.socket.set_onclose(listener);
    }
}

impl Socket for WebSocketConnection {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<SocketMessage> {
        loop {
            match ready!(self.incoming.poll_next_unpin(context)) {
                Some(Happened::Message(message)) => return Poll::Ready(message),
                Some(Happened::Open) => {}
                // The listener has the other end.
                None => return Poll::Ready(SocketMessage::Closed { clean: false }),
            }
        }
    }

    fn send(&mut self, text: &str) -> bool {
        self.socket.ready_state() == WebSocket::OPEN && self.socket.send_with_str(text).is_ok()
    }
}

impl Drop for WebSocketConnection {
    fn drop(&mut self) {
        self.listen(None);
        // It can't fail: neither a code nor a reason is given.
        self.socket.close().unwrap_or_default();
    }
}
