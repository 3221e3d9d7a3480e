//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target.

use std::rc::Rc;

use js_sys::Promise;
use sandpipe_client::background::background;
use wasm_bindgen::prelude::*;

use crate::arguments::Options;
use crate::background_options as options;
use crate::errors::or_throw;
use crate::promise::{nothing, promise_of};
use crate::value::json;
use crate::web::host::web_host;
use crate::web::runtime::JsRuntime;

/// The client of the background processes below one directory of one target.
///
/// It holds no state: another client, at another time, sees and does the same.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Background(background::Background);

#[wasm_bindgen]
impl Background {
    /// `run` is called with a script and `{ signal? }` and resolves `{ exitCode, output }`; `options`
    /// are `{ baseDir?, workspace? }`.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(constructor)]
    pub fn new(run: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        let runtime = or_throw(JsRuntime::read(run))?;
        let location = or_throw(options::location(options))?;
        Ok(Self(background::Background::new(Rc::new(runtime), web_host(None), location)))
    }

    /// Starts a script. Resolves the process.
    pub fn spawn(&self, script: &JsValue, options: &JsValue) -> Promise {
        let spawned = options::spawn_request(script, options).map(|request| self.0.spawn(request));
        promise_of(spawned, json)
    }

    /// Resolves a process as it is now.
    pub fn get(&self, id: &JsValue) -> Promise {
        let process = options::process_id(id).map(|id| self.0.get(id));
        promise_of(process, json)
    }

    /// Resolves all processes as they are now, newest first.
    pub fn list(&self) -> Promise {
        promise_of(Ok(self.0.list()), json)
    }

    /// Reads output from a place on. Resolves `{ output, nextOffset, status, exitCode? }`.
    #[wasm_bindgen(js_name = readOutput)]
    pub fn read_output(&self, id: &JsValue, options: &JsValue) -> Promise {
        let read = options::process_id(id)
            .and_then(|id| Ok(self.0.read_output(id, options::read_options(options)?)));
        promise_of(read, json)
    }

    /// Waits for the end of a process. Resolves the process, which still runs if `timeoutMs` passed.
    pub fn wait(&self, id: &JsValue, options: &JsValue) -> Promise {
        let waited =
            options::process_id(id).and_then(|id| Ok(self.0.wait(id, Options::read(options)?)));
        promise_of(waited, json)
    }

    /// Stops the process group of a process and waits until it is gone. Resolves the process.
    pub fn terminate(&self, id: &JsValue, options: &JsValue) -> Promise {
        let terminated = options::process_id(id)
            .and_then(|id| Ok(self.0.terminate(id, options::grace(options)?)));
        promise_of(terminated, json)
    }

    /// Runs a command and waits for its end. Resolves `{ output, exitCode, failureReason? }`.
    pub fn run(&self, command: &JsValue, options: &JsValue) -> Promise {
        let ended = options::run_arguments(command, options)
            .map(|(request, options)| self.0.run(request, options));
        promise_of(ended, json)
    }

    /// Removes a process that has ended, with its output.
    pub fn remove(&self, id: &JsValue) -> Promise {
        let removed = options::process_id(id).map(|id| self.0.remove(id));
        promise_of(removed, nothing)
    }
}
