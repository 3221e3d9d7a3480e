//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target.

use std::rc::Rc;

use js_sys::{Function, JsString, Object, Promise};
use sandpipe_client::background;
use wasm_bindgen::prelude::*;

use crate::arguments::Options;
use crate::background_options as options;
use crate::errors::or_throw;
use crate::promise::{nothing, promise_of};
use crate::results::json;
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
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "Runtime['run'] | undefined")] run: &Function,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundOptions")] options: &Object,
    ) -> Result<Self, JsValue> {
        let runtime = or_throw(JsRuntime::read(run))?;
        let location = or_throw(options::location(options))?;
        Ok(Self(background::Background::new(Rc::new(runtime), web_host(None), location)))
    }

    /// Starts a script. Resolves the process.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn spawn(
        &self,
        script: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "SpawnOptions")] options: &Object,
    ) -> Promise {
        let spawned = options::spawn_request(script, options).map(|request| self.0.spawn(request));
        promise_of(spawned, json)
    }

    /// Resolves a process as it is now.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn get(&self, id: &JsString) -> Promise {
        let process = options::process_id(id).map(|id| self.0.get(id));
        promise_of(process, json)
    }

    /// Resolves all processes as they are now, newest first.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(self.0.list()), json)
    }

    /// Reads output from a place on. Resolves `{ output, nextOffset, status, exitCode? }`.
    #[wasm_bindgen(js_name = readOutput, unchecked_return_type = "Promise<BackgroundOutput>")]
    pub fn read_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "ReadOutputOptions")] options: &Object,
    ) -> Promise {
        let read = options::process_id(id)
            .and_then(|id| Ok(self.0.read_output(id, options::read_options(options)?)));
        promise_of(read, json)
    }

    /// Waits for the end of a process. Resolves the process, which still runs if `timeoutMs` passed.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn wait(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundWaitOptions")] options: &Object,
    ) -> Promise {
        let waited =
            options::process_id(id).and_then(|id| Ok(self.0.wait(id, Options::read(options)?)));
        promise_of(waited, json)
    }

    /// Stops the process group of a process and waits until it is gone. Resolves the process.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn terminate(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "{ graceMs?: number }")] options: &Object,
    ) -> Promise {
        let terminated = options::process_id(id)
            .and_then(|id| Ok(self.0.terminate(id, options::grace(options)?)));
        promise_of(terminated, json)
    }

    /// Runs a command and waits for its end. Resolves `{ output, exitCode, failureReason? }`.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundRunResult>")]
    pub fn run(
        &self,
        command: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundRunOptions")] options: &Object,
    ) -> Promise {
        let ended = options::run_arguments(command, options)
            .map(|(request, options)| self.0.run(request, options));
        promise_of(ended, json)
    }

    /// Removes a process that has ended, with its output.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn remove(&self, id: &JsString) -> Promise {
        let removed = options::process_id(id).map(|id| self.0.remove(id));
        promise_of(removed, nothing)
    }
}
