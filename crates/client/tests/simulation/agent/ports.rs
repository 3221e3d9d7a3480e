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
    readers: Waiting,
}

impl SimPorts {
    /// Somebody listens on a port from now on, or nobody does.
    pub(crate) fn listen(&self, port: u16, listens: bool) {
        let mut open = self.open.borrow_mut();
        let has_changed = if listens { open.insert(port) } else { open.remove(&port) };
        drop(open);
        if has_changed {
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
        let lists = stream::unfold(None, move |mut known| {
            let agent = agent.clone();
            async move {
                let bytes = {
                    let find = || {
                        let list = agent.ports.list();
                        let is_new = known.as_ref() != Some(&list);
                        is_new.then(|| event("", known.insert(list)))
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
                Some((bytes, known))
            }
        });
        stream::once(ready(comment("sandpipe"))).chain(lists).boxed_local()
    }
}
