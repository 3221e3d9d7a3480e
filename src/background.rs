//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use std::rc::Rc;

use js_sys::{Function, JsString, Number, Object, Promise};
use sandpipe_client::background;
use sandpipe_client::execs::DEFAULT_GRACE_MS;
use wasm_bindgen::prelude::*;

use crate::arguments::{function, milliseconds, port, shell_text};
use crate::background_options::{process_id, read_options};
use crate::callbacks::regexp::pattern;
use crate::callbacks::runtime::JsRuntime;
use crate::errors::or_throw;
use crate::fields::{Options, only_option};
use crate::promise::{nothing, promise_of};
use crate::results::{background_found_output, json};
use crate::web::host::web_host;

/// The client of the background processes below one directory of one target.
///
/// It holds no state: another client, at another time, sees and does the same.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Background(background::Background);

#[wasm_bindgen]
impl Background {
    /// `run` is called with a script and `{ signal? }` and resolves `{ exitCode, output }`; `options`
    /// are `{ baseDir?, namespace? }`.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(
            unchecked_param_type = "((script: string, options?: { signal?: AbortSignal }) => Promise<RunResult>) | undefined"
        )]
        run: &Function,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundOptions")] options: &Object,
    ) -> Result<Self, JsValue> {
        let run = or_throw(function(run, "runtime.run"))?;
        let location = or_throw(Options::read(options))?;
        Ok(Self(background::Background::new(Rc::new(JsRuntime { run }), web_host(None), location)))
    }

    /// Starts a script and resolves when it runs, in one round trip. The script may have any length and
    /// content. bash runs it where the runtime's shell is bash, else `sh`; its stdin is empty, and a hangup
    /// does not end it.
    ///
    /// @throws {InvalidArgumentError} An argument or option is wrong.
    /// @throws {BackgroundError} It could not be started; or there is no answer: the runtime failed, which is
    /// the `cause`, and {@link Background.get} tells of its `id` whether it was.
    /// @throws What the runtime's `run` did, where that has `mayHaveRun: false`: nothing was started.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn spawn(
        &self,
        script: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "SpawnOptions")] options: &Object,
    ) -> Promise {
        let spawned = shell_text(script, "script")
            .and_then(|script| Ok(self.0.spawn(script, Options::read(options)?)));
        promise_of(spawned, json)
    }

    /// One process.
    ///
    /// @throws {NotFoundError} There is none of that id.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn get(&self, id: &JsString) -> Promise {
        let process = process_id(id).map(|id| self.0.get(id));
        promise_of(process, json)
    }

    /// All processes, newest first, in one round trip. What has no readable `meta.json` is left out.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(self.0.list()), json)
    }

    /// Reads output from a place on, also of a process that has ended. To follow it, go on at `nextOffset`
    /// until `status` is not `running` and `nextOffset` is what it was: with a `filter`, a read may
    /// bring nothing and there is more.
    ///
    /// @throws {NotFoundError} There is no process of that id.
    /// @throws {InvalidArgumentError} An option is wrong; `filter` is no regular expression, say.
    #[wasm_bindgen(js_name = readOutput, unchecked_return_type = "Promise<BackgroundOutput>")]
    pub fn read_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "ReadOutputOptions")] options: &Object,
    ) -> Promise {
        let read = process_id(id).and_then(|id| Ok(self.0.read_output(id, read_options(options)?)));
        promise_of(read, json)
    }

    /// Waits for the end of a process, on the target: nothing is asked again and again from here.
    ///
    /// @throws {NotFoundError} There is no process of that id.
    /// @throws {InterruptedError} `options.signal` was aborted.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn wait(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundWaitOptions")] options: &Object,
    ) -> Promise {
        let waited = process_id(id).and_then(|id| Ok(self.0.wait(id, Options::read(options)?)));
        promise_of(waited, json)
    }

    /// Waits for a text in the output of a process, on the target. js/background.ts has the types, which follow the pattern,
    /// and the documentation.
    #[wasm_bindgen(
        js_name = waitForOutput,
        unchecked_return_type = "Promise<BackgroundFoundOutput<string | RegExpExecArray>>"
    )]
    pub fn wait_for_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_param_type = "string | RegExp")] pattern: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundWaitForOutputOptions")]
        options: &Object,
    ) -> Promise {
        let found = process_id(id).and_then(|id| {
            let pattern = self::pattern(pattern, "pattern")?;
            Ok(self.0.wait_for_output(id, pattern, Options::read(options)?))
        });
        promise_of(found, background_found_output)
    }

    /// Waits until somebody listens on a TCP port of the target, at whatever address, and rejects as soon as the process ends
    /// first. It looks on the target, at `/proc/net/tcp`, which Linux has.
    ///
    /// @throws {NotReadyError} The process has ended, and nobody listens on the port.
    /// @throws {TimeoutError} `timeoutMs` passed.
    /// @throws {NotFoundError} There is no process of that id.
    /// @throws {BackgroundError} The target has no `/proc/net/tcp`.
    /// @throws {InterruptedError} `options.signal` was aborted.
    #[wasm_bindgen(js_name = waitForPort, unchecked_return_type = "Promise<void>")]
    pub fn wait_for_port(
        &self,
        id: &JsString,
        port: &Number,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitLimits")] options: &Object,
    ) -> Promise {
        let waited = process_id(id).and_then(|id| {
            Ok(self.0.wait_for_port(id, self::port(port, "port")?, Options::read(options)?))
        });
        promise_of(waited, nothing)
    }

    /// Stops a process with all that it has started: SIGTERM to its process group, `graceMs` for it to end,
    /// then SIGKILL. Resolves when nothing of the group is left, also when it had ended before.
    ///
    /// @param options.graceMs How long it may take to end after SIGTERM, in milliseconds. Default: 10 000.
    /// @throws {NotFoundError} There is no process of that id.
    /// @throws {BackgroundError} Processes are left although they were killed.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundProcess>")]
    pub fn terminate(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "{ graceMs?: number }")] options: &Object,
    ) -> Promise {
        let terminated = process_id(id).and_then(|id| {
            let grace_ms = only_option(options, "graceMs", milliseconds)?;
            Ok(self.0.terminate(id, grace_ms.unwrap_or(DEFAULT_GRACE_MS)))
        });
        promise_of(terminated, json)
    }

    /// Runs a command in the background and waits for its end. Its files are removed at its end, unless
    /// there is more in them than was handed over. A command that still runs after `waitTimeoutMs` goes on:
    /// the result has exit code 1, `timedOut` and its `id`.
    ///
    /// @throws {TimeoutError} With `check`: the command still runs after `waitTimeoutMs`.
    /// @throws {BackgroundError} It is gone and has left no exit code; or the runtime failed, which is the
    /// `cause`, and the command may still run as the process `id`.
    /// @throws What the runtime's `run` did, where that has `mayHaveRun: false`: nothing was started.
    #[wasm_bindgen(unchecked_return_type = "Promise<BackgroundRunResult>")]
    pub fn run(
        &self,
        command: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "BackgroundRunOptions")] options: &Object,
    ) -> Promise {
        let ended = shell_text(command, "command")
            .and_then(|command| Ok(self.0.run(command, Options::read(options)?)));
        promise_of(ended, json)
    }

    /// Lists the names of all namespaces in the same `baseDir` that have a process.
    #[wasm_bindgen(unchecked_return_type = "Promise<string[]>")]
    pub fn namespaces(&self) -> Promise {
        promise_of(Ok(self.0.namespaces()), json)
    }

    /// Removes a process that has ended, with its output.
    ///
    /// @throws {BackgroundError} It is still running, or something that it started.
    /// @throws {NotFoundError} There is none of that id.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn remove(&self, id: &JsString) -> Promise {
        let removed = process_id(id).map(|id| self.0.remove(id));
        promise_of(removed, nothing)
    }
}
