use std::future::Future;
use std::pin::Pin;

use wasm_bindgen::prelude::*;

use super::Execs;
use super::event_list::EventList;
use super::output_reader::OutputReader;
use crate::arguments::{exec_id, last_sequence};
use crate::batches::{Batches, Source};
use crate::error::Result;

#[wasm_bindgen]
impl Execs {
    /// The events (`ExecStdout`) of an exec's output after `lastSequence`, up to the one with the
    /// exit code.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = streamOutput)]
    pub fn stream_output(
        &self,
        id: &JsValue,
        last_sequence: &JsValue,
    ) -> std::result::Result<Batches, JsValue> {
        let id = exec_id(id)?;
        let last_sequence = self::last_sequence(last_sequence)?;
        let transport = self.transport.part();
        let under_way = transport.in_flight.clone();
        Ok(Batches::new(under_way, OutputReader::new(transport, id, last_sequence)))
    }
}

impl Source for OutputReader {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            let mut events = EventList::default();
            if self.read_into(&mut events).await? {
                return events.take_array().map(|events| Some(events.into()));
            }
            Ok(None)
        })
    }
}
