use std::future::Future;
use std::pin::Pin;

use wasm_bindgen::prelude::*;

use super::Execs;
use super::event_list::EventList;
use super::output_reader::OutputReader;
use crate::arguments::{exec_id, last_sequence};
use crate::batches::{Batches, Source};
use crate::errors::or_throw;
use sandpipe_client::error::Result;

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
        let id = or_throw(exec_id(id))?;
        let last_sequence = or_throw(self::last_sequence(last_sequence))?;
        let transport = self.transport.part();
        let under_way = transport.in_flight.clone();
        let reader = OutputReader::new(transport, id, last_sequence);
        Ok(Batches::new(under_way, OutputStream::new(reader)))
    }
}

/// The events of an output as they are read.
#[derive(Debug)]
pub(crate) struct OutputStream {
    reader: OutputReader,
    /// Its memory serves batch after batch.
    list: EventList,
}

impl OutputStream {
    pub(crate) fn new(reader: OutputReader) -> Self {
        Self { reader, list: EventList::default() }
    }

    /// The exit code, once it is known.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.reader.exit_code()
    }
}

impl Source for OutputStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            if self.reader.read_into(&mut self.list).await? {
                return self.list.take_array().map(|events| Some(events.into()));
            }
            Ok(None)
        })
    }
}
