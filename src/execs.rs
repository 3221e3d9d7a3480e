//! Execs: commands that the agent runs.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use js_sys::{Array, Function, JsString, Number, Object, Promise};
use sandpipe_client::execs::{
    ListStream, OutputReader, create, delete, exec_and_tell, feed_stdin, get, get_output, kill,
    list, send_input, send_stdin, start, terminate, wait, wait_for_output,
};
use sandpipe_client::output::Encoding;
use sandpipe_client::{Agent, ExecId, terminal};
use wasm_bindgen::prelude::*;

use crate::arguments::{exec_id, last_sequence, signal_name};
use crate::batches::Batches;
use crate::callbacks::regexp::pattern;
use crate::errors::or_throw;
use crate::fields::Options;
use crate::options::{NewExec, StdinBody, encoding, exec_arguments, max_silence_ms};
use crate::promise::{nothing, promise_of};
use crate::results::{exec_result, exec_snapshot, found_output, json};
use crate::sandbox::Sandbox;
use crate::terminal::Terminal;

// Every call takes what it needs before it returns its promise, so that freeing this handle meanwhile does no harm; a
// wrong argument rejects the promise as any other failure does.
/// The commands of a sandbox. Each call says what it throws; all throw {@link HttpError} as well.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Execs {
    agent: Agent,
}

#[wasm_bindgen]
impl Execs {
    /// The commands of this sandbox.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(sandbox: &Sandbox) -> Self {
        Self { agent: sandbox.agent.clone() }
    }

    /// Creates an exec and starts it, unless `autostart` is false. It does not wait for its end.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn create(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CreateExecRequest")] request: &Object,
    ) -> Promise {
        let request = NewExec::read_required(request, "request");
        let created = request.map(|NewExec(request)| create(&self.agent, request));
        promise_of(created, json)
    }

    /// Starts an exec that was created with `autostart: false`. One that runs is left as it is.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn start(&self, id: &JsString) -> Promise {
        let started = exec_id(id).map(|id| start(&self.agent, id));
        promise_of(started, json)
    }

    /// One exec.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn get(&self, id: &JsString) -> Promise {
        let exec = exec_id(id).map(|id| get(&self.agent, &id));
        promise_of(exec, json)
    }

    /// All execs, newest first. Of a long command line there is only the beginning, and `argsTruncated` is true:
    /// {@link Execs.get} has the whole.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(list(&self.agent)), |list| json(list.execs))
    }

    /// Kills an exec's process group, also what a command that has ended left running in it, waits until it is gone,
    /// and forgets the exec and its output.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn delete(&self, id: &JsString) -> Promise {
        let deleted = exec_id(id).map(|id| delete(&self.agent, &id));
        promise_of(deleted, nothing)
    }

    /// Runs a command to its end. js/execs.ts has the types, which follow the options, and the documentation.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecResult>")]
    pub fn exec(
        &self,
        command: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "string[]")] args: &Array,
        #[wasm_bindgen(unchecked_optional_param_type = "ExecOptions")] options: &Object,
        #[wasm_bindgen(unchecked_optional_param_type = "(id: string) => void")] created: Function,
    ) -> Promise {
        let ended = exec_arguments(command, args, options).map(|arguments| {
            let tell = move |id: &ExecId| {
                // Nobody has to be there.
                created.call1(&JsValue::UNDEFINED, &id.as_str().into()).unwrap_or_default();
            };
            exec_and_tell(&self.agent, arguments, Box::new(tell))
        });
        promise_of(ended, |(_, result)| exec_result(result))
    }

    /// Follows an exec that exists to its end, in the same way.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecResult>")]
    pub fn wait(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitOptions")] options: &Object,
    ) -> Promise {
        let ended = exec_id(id).and_then(|id| Ok(wait(&self.agent, id, Options::read(options)?)));
        promise_of(ended, exec_result)
    }

    /// Waits for a text in an exec's output. js/execs.ts has the types, which follow the pattern, and the documentation.
    #[wasm_bindgen(
        js_name = waitForOutput,
        unchecked_return_type = "Promise<FoundOutput<string | RegExpExecArray>>"
    )]
    pub fn wait_for_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_param_type = "string | RegExp")] pattern: &JsValue,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitForOutputOptions")] options: &Object,
    ) -> Promise {
        let found = exec_id(id).and_then(|id| {
            let pattern = self::pattern(pattern, "pattern")?;
            Ok(wait_for_output(&self.agent, id, pattern, Options::read(options)?))
        });
        promise_of(found, found_output)
    }

    /// Stops an exec: SIGTERM to its whole process group, `graceMs` for it to end, then SIGKILL.
    /// Resolves when no process of the group is left, also when it had ended before: what outlived
    /// it is stopped, too, if the agent can tell (the extension `signal`).
    ///
    /// @throws {StillThereError} Processes are left although they were killed.
    #[wasm_bindgen(unchecked_return_type = "Promise<TerminateResult>")]
    pub fn terminate(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "TerminateOptions")] options: &Object,
    ) -> Promise {
        let terminated =
            exec_id(id).and_then(|id| Ok(terminate(&self.agent, id, Options::read(options)?)));
        promise_of(terminated, json)
    }

    /// Sends a signal to an exec's whole process group. It does not wait for what comes of it.
    ///
    /// @param signal Its name, or `"0"` to ask only whether a process is left. Default: `"SIGTERM"`.
    /// @throws {HttpError} With status 409: no process of the group is left.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn kill(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "string")] signal: &JsString,
    ) -> Promise {
        let sent = exec_id(id).and_then(|id| Ok(kill(&self.agent, &id, signal_name(signal)?)));
        promise_of(sent, nothing)
    }

    /// Writes to a running exec's stdin, sets the size of its terminal, or closes its stdin. It resolves nothing for a stream.
    #[wasm_bindgen(js_name = sendStdin, unchecked_return_type = "Promise<ExecItem | void>")]
    pub fn send_stdin(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_param_type = "StdinBody | string | Uint8Array")] body: &Object,
    ) -> Promise {
        let read = exec_id(id).and_then(|id| Ok((id, StdinBody::read(body)?)));
        match read {
            Ok((id, StdinBody::Text(stdin))) => {
                promise_of(Ok(send_stdin(&self.agent, &id, &stdin)), json)
            }
            Ok((id, StdinBody::Bytes(bytes))) => {
                promise_of(Ok(send_input(&self.agent, id, Box::new(bytes))), json)
            }
            Ok((id, StdinBody::Stream(stream))) => {
                promise_of(Ok(feed_stdin(&self.agent, id, Box::new(stream))), nothing)
            }
            Err(error) => promise_of(Err(error), nothing),
        }
    }

    /// What there is of an exec's output now. `exitCode` is undefined while the process runs.
    ///
    /// @param lastSequence Only the events after this one; -N: the last N events. Default: 0, all.
    /// @throws {OutputLostError} The agent no longer has some of them.
    #[wasm_bindgen(js_name = getOutput, unchecked_return_type = "Promise<ExecSnapshot>")]
    pub fn get_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(js_name = lastSequence, unchecked_optional_param_type = "number")]
        last_sequence: &Number,
    ) -> Promise {
        let output = exec_id(id)
            .and_then(|id| Ok(get_output(&self.agent, id, self::last_sequence(last_sequence)?)));
        promise_of(output, exec_snapshot)
    }
}

// js/execs.ts makes of these what users get.
#[wasm_bindgen]
impl Sandbox {
    /// The events (`ExecStdout`) of an exec's output after `lastSequence`, up to the one with the
    /// exit code.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = streamOutput, unchecked_return_type = "Batches<ExecStdout>")]
    pub fn stream_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(js_name = lastSequence, unchecked_optional_param_type = "number")]
        last_sequence: &Number,
        #[wasm_bindgen(unchecked_optional_param_type = "\"utf8\" | \"bytes\"")] encoding: &JsString,
    ) -> Result<Batches, JsValue> {
        let id = or_throw(exec_id(id))?;
        let last_sequence = or_throw(self::last_sequence(last_sequence))?;
        let encoding = if encoding.is_undefined() {
            Encoding::Utf8
        } else {
            or_throw(self::encoding(encoding, "options.encoding"))?
        };
        let reader = OutputReader::new(self.agent.child(), id, last_sequence);
        Ok(Batches::of_output(reader, encoding))
    }

    /// The list of all execs (`{ execs }`), now and after every change, until it is closed.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = streamList, unchecked_return_type = "Batches<{ execs: ExecItem[] }>")]
    pub fn stream_list(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "StreamListOptions")] options: &Object,
    ) -> Result<Batches, JsValue> {
        let max_silence_ms = or_throw(max_silence_ms(options))?;
        Ok(Batches::of_lists(ListStream::new(self.agent.child(), max_silence_ms)))
    }

    /// Resolves a `Terminal` at an exec that exists.
    #[wasm_bindgen(unchecked_return_type = "Promise<Terminal>")]
    pub fn attach(&self, id: &JsString) -> Promise {
        let attached = exec_id(id).map(|id| terminal::Terminal::attach(&self.agent, id));
        promise_of(attached, |terminal| Ok(Terminal(terminal).into()))
    }
}
