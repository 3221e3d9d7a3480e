//! Sessions: shells that remember.

use js_sys::{JsString, Object, Promise};
use sandpipe_client::agent::Agent;
use sandpipe_client::sessions::create::SessionOptions;
use sandpipe_client::sessions::session;
use wasm_bindgen::prelude::*;

use crate::arguments::{Options, shell_text};
use crate::promise::{nothing, promise_of};
use crate::value::exec_result;

/// The client of an agent's sessions.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Sessions(session::Sessions);

impl Sessions {
    pub(crate) fn new(agent: Agent) -> Self {
        Self(session::Sessions::new(agent))
    }

    /// Ends all sessions with their sandbox.
    pub(crate) fn end_all(&self) {
        self.0.end_all();
    }
}

#[wasm_bindgen]
impl Sessions {
    /// Starts a shell and waits until it is ready. Resolves a [`Session`].
    #[wasm_bindgen(unchecked_return_type = "Promise<Session>")]
    pub fn create(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "SessionOptions")] options: &Object,
    ) -> Promise {
        let created = SessionOptions::read(options).map(|options| self.0.create(options));
        promise_of(created, |session| Ok(Session(session).into()))
    }
}

/// A shell that remembers: it keeps its directory, variables and functions from run to run.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Session(session::Session);

#[wasm_bindgen]
impl Session {
    /// Runs a script when those before it are done. Resolves `{ exitCode, output }`.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecResult>")]
    pub fn run(
        &self,
        script: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitOptions")] options: &Object,
    ) -> Promise {
        // Now: the order is that of the calls.
        let running = shell_text(script, "script")
            .and_then(|script| Ok(self.0.run(script, Options::read(options)?)));
        promise_of(running, exec_result)
    }

    /// Ends the shell and everything in its group, also when it is called again.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn close(&self) -> Promise {
        promise_of(Ok(self.0.close()), nothing)
    }
}
