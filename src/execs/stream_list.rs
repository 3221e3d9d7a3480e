use std::future::Future;
use std::pin::Pin;

use sandpipe_protocol::ExecListResponse;
use sandpipe_protocol::sse::Decoder;
use wasm_bindgen::prelude::*;

use super::Execs;
use crate::batches::{Batches, Source};
use crate::closing::Cancel;
use crate::error::{Error, Result};
use crate::request::{Operation, Request, read_json};
use crate::transport::{Body, Transport};
use crate::value::to_js;

#[wasm_bindgen]
impl Execs {
    /// The list of all execs (`{ execs }`), now and after every change, until it is closed.
    ///
    /// # Errors
    /// `closed`.
    #[wasm_bindgen(js_name = streamList)]
    pub fn stream_list(&self) -> std::result::Result<Batches, JsValue> {
        let cancel = self.transport.begin()?;
        let connection = cancel.controller();
        let reader = ListReader {
            transport: self.transport.clone(),
            decoder: Decoder::default(),
            state: State::Idle(cancel),
        };
        Ok(Batches::new(connection, reader))
    }
}

struct ListReader {
    transport: Transport,
    decoder: Decoder,
    state: State,
}

enum State {
    Idle(Cancel),
    Open(Body),
    Ended,
}

impl ListReader {
    /// The lists that the next chunk completes, at least one; None when the agent ends the stream.
    async fn read(&mut self) -> Result<Option<Vec<ExecListResponse>>> {
        const OPERATION: Operation = Operation::StreamList;
        loop {
            let mut body = match std::mem::replace(&mut self.state, State::Ended) {
                State::Ended => return Ok(None),
                State::Open(body) => body,
                State::Idle(cancel) => {
                    let request = Request::stream(OPERATION, "/api/v1/stream/execs".to_owned());
                    self.transport.open(request, cancel).await?
                }
            };
            let Some(chunk) = body.read().await? else {
                return Ok(None);
            };
            let mut events = Vec::new();
            self.decoder.feed(chunk, |event| events.push(event.data)).map_err(|error| {
                Error::Protocol {
                    operation: OPERATION,
                    problem: error.to_string(),
                    excerpt: String::new(),
                }
            })?;
            self.state = State::Open(body);
            if !events.is_empty() {
                let lists = events.iter().map(|data| read_json(OPERATION, data.as_bytes()));
                return lists.collect::<Result<_>>().map(Some);
            }
        }
    }
}

impl Source for ListReader {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async { self.read().await?.map(|lists| to_js(&lists)).transpose() })
    }
}
