//! Execs: commands that the agent runs.

use std::future::Future;
use std::pin::Pin;

use js_sys::{Array, JsString, Number, Object, Promise, Reflect};
use sandpipe_client::agent::Agent;
use sandpipe_client::error::Result;
use sandpipe_client::execs::create::create;
use sandpipe_client::execs::delete::delete;
use sandpipe_client::execs::exec::exec;
use sandpipe_client::execs::get::get;
use sandpipe_client::execs::get_output::get_output;
use sandpipe_client::execs::list::list;
use sandpipe_client::execs::list_stream::ListStream;
use sandpipe_client::execs::output_reader::OutputReader;
use sandpipe_client::execs::send_stdin::send_stdin;
use sandpipe_client::execs::signal::kill;
use sandpipe_client::execs::start::start;
use sandpipe_client::execs::terminate::terminate;
use sandpipe_client::execs::wait::wait;
use sandpipe_client::terminal::attach::attach;
use wasm_bindgen::prelude::*;

use crate::arguments::{Options, exec_id, last_sequence, signal_name};
use crate::batches::{Batches, Source};
use crate::errors::{or_throw, thrown};
use crate::options;
use crate::promise::{nothing, promise_of};
use crate::terminal::Terminal;
use crate::value::{exec_result, json};
use crate::web::events::EventBatch;
use crate::web::live_list::LiveList;

/// The client of an agent's execs.
///
/// Every call takes what it needs before it returns its promise, so that freeing this handle
/// meanwhile does no harm; a wrong argument rejects the promise as any other failure does.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Execs {
    pub(crate) agent: Agent,
}

#[wasm_bindgen]
impl Execs {
    /// Creates an exec and, unless told otherwise, starts it. Resolves its `ExecItem`.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn create(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CreateExecRequest")] request: &Object,
    ) -> Promise {
        let created = options::create_request(request).map(|request| create(&self.agent, request));
        promise_of(created, json)
    }

    /// Starts an exec that was created without being started. Resolves its `ExecItem`.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn start(&self, id: &JsString) -> Promise {
        let started = exec_id(id).map(|id| start(&self.agent, id));
        promise_of(started, json)
    }

    /// Resolves the `ExecItem` of an exec.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem>")]
    pub fn get(&self, id: &JsString) -> Promise {
        let exec = exec_id(id).map(|id| get(&self.agent, &id));
        promise_of(exec, json)
    }

    /// Resolves an array of the `ExecItem`s of all execs, newest first, long command lines short.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecItem[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(list(&self.agent)), |list| json(list.execs))
    }

    /// Kills an exec's process group, waits until it is gone, and forgets the exec and its output.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn delete(&self, id: &JsString) -> Promise {
        let deleted = exec_id(id).map(|id| delete(&self.agent, &id));
        promise_of(deleted, nothing)
    }

    /// Runs a command to its end. Resolves `{ exitCode, output }` whatever the exit code is.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecResult>")]
    pub fn exec(
        &self,
        command: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "string[]")] args: &Array,
        #[wasm_bindgen(unchecked_optional_param_type = "ExecOptions")] options: &Object,
    ) -> Promise {
        let ended = options::exec_arguments(command, args, options)
            .map(|arguments| exec(&self.agent, arguments));
        promise_of(ended, |(_, result)| exec_result(result))
    }

    /// Follows an exec that exists to its end. Resolves `{ exitCode, output }`.
    #[wasm_bindgen(unchecked_return_type = "Promise<ExecResult>")]
    pub fn wait(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitOptions")] options: &Object,
    ) -> Promise {
        let ended = exec_id(id).and_then(|id| Ok(wait(&self.agent, id, Options::read(options)?)));
        promise_of(ended, exec_result)
    }

    /// Stops an exec's process group and waits until it is gone. Resolves `{ exitCode, forced }`.
    #[wasm_bindgen(unchecked_return_type = "Promise<TerminateResult>")]
    pub fn terminate(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "TerminateOptions")] options: &Object,
    ) -> Promise {
        let terminated =
            exec_id(id).and_then(|id| Ok(terminate(&self.agent, id, Options::read(options)?)));
        promise_of(terminated, |terminated| {
            let result = Object::new();
            let set = |name: &str, value: JsValue| {
                Reflect::set(&result, &name.into(), &value).map_err(thrown)
            };
            set("exitCode", terminated.exit_code.into())?;
            set("forced", terminated.forced.into())?;
            Ok(result.into())
        })
    }

    /// Sends a signal, by default SIGTERM, to an exec's whole process group.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn kill(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "string")] signal: &JsString,
    ) -> Promise {
        let sent = exec_id(id).and_then(|id| Ok(kill(&self.agent, &id, signal_name(signal)?)));
        promise_of(sent, nothing)
    }

    /// Writes to a running exec's standard input, or sets the size of its terminal. Resolves its
    /// `ExecItem`.
    #[wasm_bindgen(js_name = sendStdin, unchecked_return_type = "Promise<ExecItem>")]
    pub fn send_stdin(
        &self,
        id: &JsString,
        #[wasm_bindgen(unchecked_param_type = "StdinBody")] body: &Object,
    ) -> Promise {
        let sent = exec_id(id)
            .and_then(|id| Ok(send_stdin(&self.agent, &id, &options::stdin_body(body)?)));
        promise_of(sent, json)
    }

    /// Resolves what there is now of an exec's output after `lastSequence`: `{ exitCode?, output }`.
    #[wasm_bindgen(js_name = getOutput, unchecked_return_type = "Promise<ExecSnapshot>")]
    pub fn get_output(
        &self,
        id: &JsString,
        #[wasm_bindgen(js_name = lastSequence, unchecked_optional_param_type = "number")]
        last_sequence: &Number,
    ) -> Promise {
        let output = exec_id(id)
            .and_then(|id| Ok(get_output(&self.agent, id, self::last_sequence(last_sequence)?)));
        promise_of(output, exec_result)
    }

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
    ) -> std::result::Result<Batches, JsValue> {
        let id = or_throw(exec_id(id))?;
        let last_sequence = or_throw(self::last_sequence(last_sequence))?;
        let reader = OutputReader::new(self.agent.child(), id, last_sequence);
        let scope = reader.scope().clone();
        Ok(Batches::new(scope, OutputBatches { reader, batch: EventBatch::default() }))
    }

    /// The list of all execs (`{ execs }`), now and after every change, until it is closed.
    #[wasm_bindgen(js_name = streamList, unchecked_return_type = "Batches<{ execs: ExecItem[] }>")]
    #[must_use]
    pub fn stream_list(&self) -> Batches {
        let stream = ListStream::new(self.agent.child());
        let scope = stream.scope().clone();
        Batches::new(scope, Lists { stream, list: LiveList::default() })
    }

    /// Resolves a `Terminal` at an exec that exists.
    #[wasm_bindgen(unchecked_return_type = "Promise<Terminal>")]
    pub fn attach(&self, id: &JsString) -> Promise {
        let attached = exec_id(id).map(|id| attach(&self.agent, id));
        promise_of(attached, |terminal| Ok(Terminal::new(terminal).into()))
    }
}

/// The events of an output as they are read.
struct OutputBatches {
    reader: OutputReader,
    /// Its memory serves batch after batch.
    batch: EventBatch,
}

impl Source for OutputBatches {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            if self.reader.read_into(&mut self.batch).await? {
                return self.batch.take_array().map(|events| Some(events.into()));
            }
            Ok(None)
        })
    }
}

/// The list of all execs, one for all that a chunk brings.
struct Lists {
    stream: ListStream,
    list: LiveList,
}

impl Source for Lists {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            for event in self.stream.next_events().await? {
                self.list.apply(&event)?;
            }
            Ok(Some(Array::of1(&self.list.to_js()?).into()))
        })
    }
}
