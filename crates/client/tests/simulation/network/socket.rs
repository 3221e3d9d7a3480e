//! A WebSocket on its way.

use std::cell::Cell;
use std::fmt;
use std::future::pending;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures_util::StreamExt;
use sandpipe_client::host::{Socket, SocketMessage};
use sandpipe_protocol::websocket::{AgentFrame, ClientMessage};

use super::{Network, Open};
use crate::agent::exec::Exec;
use crate::agent::websocket::serve;
use crate::executor::Owner;
use crate::faults::Fault;

/// An open WebSocket. Frames take their time, in both directions, up to where its fault is.
pub(super) struct SimSocket {
    incoming: UnboundedReceiver<SocketMessage>,
    outgoing: UnboundedSender<String>,
    limit: Rc<Limit>,
    _open: Open,
}

/// How many frames get through in all.
struct Limit {
    left: Cell<usize>,
    /// How the connection ends then, and whether it is closed cleanly; None if it is silent from then on.
    is_clean: Option<bool>,
}

impl Limit {
    fn of(fault: Option<Fault>) -> Self {
        // Sizes are those of bodies: few frames, too, are to get through.
        let (left, is_clean) = match fault {
            Some(Fault::Cut { after, is_clean }) => (after, Some(is_clean)),
            Some(Fault::Stall { after, .. }) => (after, None),
            _ => (usize::MAX, None),
        };
        Self { left: Cell::new(left), is_clean }
    }

    /// Whether another frame gets through.
    fn take_one(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

impl SimSocket {
    pub(super) fn open(
        network: &Rc<Network>,
        exec: Rc<Exec>,
        last: i64,
        fault: Option<Fault>,
    ) -> Self {
        let (outgoing, from_client) = unbounded();
        let (to_client, incoming) = unbounded();
        let (to_agent, messages) = unbounded();
        let (frames, from_agent) = unbounded();
        let limit = Rc::new(Limit::of(fault));
        let spawn = |task| network.executor.spawn(Owner::Simulation, task);
        let agent = network.agent.clone();
        spawn(Box::pin(serve(agent, exec, last, frames, messages)) as LocalTask);
        spawn(Box::pin(upwards(network.clone(), from_client, to_agent, limit.clone())));
        if fault == Some(Fault::Page) {
            to_client.unbounded_send(SocketMessage::NotText).expect("the other end is here");
        }
        spawn(Box::pin(downwards(network.clone(), from_agent, to_client, limit.clone())));
        Self { incoming, outgoing, limit, _open: Open::new(&network.connections) }
    }
}

type LocalTask = futures_util::future::LocalBoxFuture<'static, ()>;

/// What the client sends.
async fn upwards(
    network: Rc<Network>,
    mut from_client: UnboundedReceiver<String>,
    to_agent: UnboundedSender<ClientMessage>,
    limit: Rc<Limit>,
) {
    while let Some(text) = from_client.next().await {
        network.trace.add(|| format!("WebSocket → {text}"));
        network.pause().await;
        if limit.take_one() {
            let message = serde_json::from_str(&text).expect("what the agent takes");
            // The agent may have closed it.
            to_agent.unbounded_send(message).unwrap_or_default();
        }
    }
}

/// What the agent sends.
async fn downwards(
    network: Rc<Network>,
    mut from_agent: UnboundedReceiver<AgentFrame>,
    to_client: UnboundedSender<SocketMessage>,
    limit: Rc<Limit>,
) {
    // Nobody may be listening any more.
    let send = |message| to_client.unbounded_send(message).unwrap_or_default();
    while let Some(frame) = from_agent.next().await {
        network.pause().await;
        if !limit.take_one() {
            return match limit.is_clean {
                Some(clean) => send(SocketMessage::Closed { clean }),
                None => pending().await,
            };
        }
        let text = serde_json::to_string(&frame).expect("plain data");
        network.trace.add(|| format!("WebSocket ← {text}"));
        send(SocketMessage::Text(text));
    }
    send(SocketMessage::Closed { clean: true });
}

impl Socket for SimSocket {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<SocketMessage> {
        let broken = SocketMessage::Closed { clean: false };
        self.incoming.poll_next_unpin(context).map(|message| message.unwrap_or(broken))
    }

    fn send(&mut self, text: &str) -> bool {
        // Who knows that it is closed does not send.
        let is_closed = self.limit.left.get() == 0 && self.limit.is_clean.is_some();
        !is_closed && self.outgoing.unbounded_send(text.to_owned()).is_ok()
    }
}

impl fmt::Debug for SimSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimSocket")
    }
}
