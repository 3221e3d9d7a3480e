use js_sys::Promise;
use sandpipe_protocol::Gap;
use sandpipe_protocol::json;
use sandpipe_protocol::json_array::Elements;
use wasm_bindgen::prelude::*;

use super::Execs;
use super::follow::{Break, Order};
use super::output_lost::with_exit_code;
use super::sink::Sink;
use super::transcript::Transcript;
use crate::arguments::{exec_id, last_sequence};
use crate::promise::promise;
use crate::request::{ExecId, Request};
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

#[wasm_bindgen]
impl Execs {
    /// Resolves what there is now of an exec's output after `lastSequence`: `{ exitCode?, output }`.
    #[wasm_bindgen(js_name = getOutput)]
    pub fn get_output(&self, id: &JsValue, last_sequence: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, self::last_sequence(last_sequence)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, last_sequence) = arguments?;
            get_output(&transport, &id, last_sequence).await
        })
    }
}

const OPERATION: Operation = Operation::GetOutput;

async fn get_output(transport: &Transport, id: &ExecId, last_sequence: i64) -> Result<JsValue> {
    let attempt = async || {
        let mut transcript = Transcript::new(id, None);
        let exit_code = read(transport, id, last_sequence, &mut transcript).await?;
        transcript.outcome(exit_code)
    };
    match transport.repeat(OPERATION, attempt).await {
        Err(error) => Err(with_exit_code(error, transport, id).await),
        outcome => outcome,
    }
}

/// Reads the events that exist after `last_sequence` into a sink; gives the exit code, if it is among them. That
/// it succeeds shows that there are no others: a JSON array says where it ends.
pub(super) async fn read(
    transport: &Transport,
    id: &ExecId,
    last_sequence: i64,
    sink: &mut dyn Sink,
) -> Result<Option<i32>> {
    let path = id.path(&format!("/io?lastSequence={last_sequence}"));
    let request = Request::get(OPERATION, path);
    let mut body = transport.open(&request).await.map_err(|error| lost(error, id))?;
    let mut snapshot =
        Snapshot { elements: Elements::default(), order: Order::after(last_sequence) };
    while let Some(chunk) = body.read().await? {
        snapshot.feed(chunk, sink).map_err(|broken| broken.explain(OPERATION, id))?;
        sink.end_batch()?;
    }
    snapshot.end().map_err(|broken| broken.explain(OPERATION, id))?;
    Ok(snapshot.order.exit_code())
}

/// The extension `gap`: a 410 with the numbers of the events that are gone.
fn lost(error: Box<Error>, id: &ExecId) -> Box<Error> {
    match &*error {
        Error::Http { status: 410, body, .. } => match json::read::<Gap>(body.as_bytes()) {
            Ok(Gap { from, to }) => Break::Lost { from, to }.explain(OPERATION, id),
            Err(_) => error,
        },
        _ => error,
    }
}

/// Reads the array of events that is an exec's output up to now.
struct Snapshot {
    elements: Elements,
    order: Order,
}

impl Snapshot {
    /// Gives the events that the next bytes complete to a sink.
    fn feed(&mut self, chunk: &[u8], sink: &mut dyn Sink) -> std::result::Result<(), Break> {
        let mut verdict = Ok(());
        let Self { elements, order } = self;
        let fed = elements.feed(chunk, &mut |element| {
            if verdict.is_ok() {
                verdict = order.admit(element, sink);
            }
        });
        verdict?;
        fed.map_err(|error| Break::protocol(&error.to_string(), chunk))
    }

    /// Says whether the array was whole.
    fn end(&self) -> std::result::Result<(), Break> {
        if self.elements.is_complete() {
            return Ok(());
        }
        Err(Break::protocol("the array of events is cut off", &[]))
    }
}
