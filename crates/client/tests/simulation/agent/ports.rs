//! The ports that are listened on at a simulated agent's.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, ready, select};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::{PortInfo, PortsListResponse};

use super::SimAgent;
use super::exec::Waiting;
use super::output_form::{comment, event};
use super::streams::PING_INTERVAL_MS;
use crate::network::Bytes;

/// How long a list stands before the next one is looked for, in milliseconds.
const LIST_INTERVAL_MS: f64 = 100.0;

/// The sockets that listen.
#[derive(Default)]
pub(crate) struct SimPorts {
    open: RefCell<BTreeSet<u16>>,
    /// All lists there have been, each time that something had changed.
    lists: RefCell<Vec<PortsListResponse>>,
    readers: Waiting,
}

impl SimPorts {
    /// Somebody listens on a port from now on, or nobody does.
    pub(crate) fn listen(&self, port: u16, listens: bool) {
        let mut open = self.open.borrow_mut();
        let has_changed = if listens { open.insert(port) } else { open.remove(&port) };
        drop(open);
        if has_changed {
            self.lists.borrow_mut().push(self.list());
            self.readers.wake();
        }
    }

    /// What the agent says of them.
    pub(crate) fn list(&self) -> PortsListResponse {
        let info = |port: &u16| PortInfo {
            port: *port,
            address: "127.0.0.1".to_owned(),
            pid: None,
            command: None,
            exec: None,
        };
        PortsListResponse { ports: self.open.borrow().iter().map(info).collect() }
    }
}

impl SimAgent {
    /// The list of all ports, now and whenever it changes.
    pub(super) fn stream_ports(self: &Rc<Self>) -> Bytes {
        let agent = self.clone();
        let (first, next) = (self.ports.list(), self.ports.lists.borrow().len());
        let lists = stream::unfold(next, move |mut next| {
            let agent = agent.clone();
            async move {
                let bytes = {
                    // Those that come together are delivered together.
                    let find = || {
                        let lists = agent.ports.lists.borrow();
                        let new = lists.get(next..).filter(|new| !new.is_empty())?;
                        next += new.len();
                        Some(new.iter().flat_map(|list| event("", list)).collect())
                    };
                    let next = pin!(agent.ports.readers.until(find));
                    match select(next, agent.executor.sleep(PING_INTERVAL_MS)).await {
                        Either::Left((bytes, _)) => {
                            agent.executor.sleep(LIST_INTERVAL_MS).await;
                            bytes
                        }
                        Either::Right(_) => comment("ping"),
                    }
                };
                Some((bytes, next))
            }
        });
        stream::once(ready(event("", &first))).chain(lists).boxed_local()
    }
}
