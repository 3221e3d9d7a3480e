//! Ports of the agent's machine.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use js_sys::{Number, Object, Promise};
use sandpipe_client::ports::{PortStream, WaitForPortOptions, forward_address, list, wait_for};
use sandpipe_client::{Agent, ExecId, Result};
use wasm_bindgen::prelude::*;

use crate::arguments::{exec_id, port};
use crate::batches::Batches;
use crate::fields::{Options, options};
use crate::invalid_argument::wrong;
use crate::promise::promise_of;
use crate::results::json;
use crate::sandbox::Sandbox;

/// The TCP ports that are listened on in a sandbox. Each call says what it throws; all throw {@link HttpError} as well, and
/// {@link UnsupportedError} where the agent has no ports.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Ports {
    agent: Agent,
}

#[wasm_bindgen]
impl Ports {
    /// The ports of this sandbox.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(sandbox: &Sandbox) -> Self {
        Self { agent: sandbox.agent.clone() }
    }

    /// The sockets that listen, by port, then by address. The agent's own is left out.
    #[wasm_bindgen(unchecked_return_type = "Promise<PortInfo[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(list(&self.agent)), |list| json(list.ports))
    }

    /// Waits until somebody listens on a port, at whatever address, and resolves the socket; at once if somebody does already.
    ///
    /// @throws {NotReadyError} The exec of `options.exec` has ended first.
    /// @throws {TimeoutError} `timeoutMs` passed.
    /// @throws {InterruptedError} `options.signal` was aborted.
    #[wasm_bindgen(js_name = waitFor, unchecked_return_type = "Promise<PortInfo>")]
    pub fn wait_for(
        &self,
        port: &Number,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitForPortOptions")] options: &Object,
    ) -> Promise {
        let found = self::port(port, "port")
            .and_then(|port| Ok(wait_for(&self.agent, port, Options::read(options)?)));
        promise_of(found, json)
    }
}

// js/ports.ts makes of this what users get.
#[wasm_bindgen]
impl Sandbox {
    /// The sockets that listen (`{ ports }`), now and after every change, until it is closed.
    #[wasm_bindgen(js_name = streamPorts, unchecked_return_type = "Batches<{ ports: PortInfo[] }>")]
    #[must_use]
    pub fn stream_ports(&self) -> Batches {
        Batches::of_ports(PortStream::new(self.agent.child()))
    }

    /// The address of a WebSocket that is one connection to a port. It takes the headers of requests.
    #[wasm_bindgen(js_name = portAddress, unchecked_return_type = "Promise<string>")]
    pub fn port_address(&self, port: &Number) -> Promise {
        let address = self::port(port, "port").map(|port| forward_address(&self.agent, port));
        promise_of(address, |address| Ok(address.into()))
    }

    /// What every request carries, the token among it.
    #[wasm_bindgen(getter, unchecked_return_type = "Record<string, string>")]
    #[must_use]
    pub fn headers(&self) -> Object {
        self.headers.clone()
    }
}

options! {
    /// How to wait for a port.
    interface "WaitForPortOptions extends WaitLimits"
    for WaitForPortOptions {
        ..limits,
        /// The id of the exec that is to listen: if it ends first the wait rejects at once, with its exit code and the last part of
        /// its output.
        "exec" "?: string" => exec = optional exec,
    }
}

fn exec(value: &JsValue, name: &str) -> Result<ExecId> {
    exec_id(value).map_err(|_| wrong(name, "the id of an exec", value))
}
