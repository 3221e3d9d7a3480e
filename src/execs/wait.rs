use js_sys::{Array, Function, Promise};
use sandpipe_protocol::ExecStdout;
use wasm_bindgen::{JsCast, prelude::*};

use super::output_reader::OutputReader;
use super::transcript::Transcript;
use super::{Execs, promise};
use crate::arguments::{Fields, exec_id, function};
use crate::error::{Error, Result};
use crate::request::ExecId;
use crate::transport::Transport;
use crate::value::to_js;

#[wasm_bindgen]
impl Execs {
    /// Follows an exec that exists to its end. Resolves `{ exitCode, output }`.
    pub fn wait(&self, id: &JsValue, options: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, read_options(options)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, options) = arguments?;
            wait(&transport, id, &options).await
        })
    }
}

/// The names of the fields that [`WaitOptions::read`] reads.
pub(super) const WAIT_OPTIONS: [&str; 1] = ["onOutput"];

#[derive(Debug)]
pub(super) struct WaitOptions {
    on_output: Option<Function>,
}

impl WaitOptions {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self { on_output: fields.optional("onOutput", function)? })
    }
}

fn read_options(value: &JsValue) -> Result<WaitOptions> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&WAIT_OPTIONS)?;
    WaitOptions::read(&fields)
}

pub(super) async fn wait(
    transport: &Transport,
    id: ExecId,
    options: &WaitOptions,
) -> Result<JsValue> {
    let mut reader = OutputReader::new(transport.clone(), id, 0, transport.begin()?);
    let mut transcript = Transcript::default();
    match follow(&mut reader, &mut transcript, options).await {
        Ok(()) => transcript.outcome(reader.exit_code()),
        Err(Error::ExitCodeMissing { exec_id, cause, .. }) => {
            Err(Error::ExitCodeMissing { exec_id, output: transcript.text(), cause })
        }
        Err(error) => Err(error),
    }
}

/// Reads up to the exit code.
async fn follow(
    reader: &mut OutputReader,
    transcript: &mut Transcript,
    options: &WaitOptions,
) -> Result<()> {
    while let Some(events) = reader.read().await? {
        transcript.push(&events, reader.id())?;
        if let Some(on_output) = &options.on_output {
            report(on_output, &events)?;
        }
    }
    Ok(())
}

fn report(on_output: &Function, events: &[ExecStdout]) -> Result<()> {
    let events: Array = to_js(&events)?.unchecked_into();
    for event in events {
        on_output.call1(&JsValue::UNDEFINED, &event).map_err(Error::Thrown)?;
    }
    Ok(())
}
