use std::future::Future;
use std::pin::Pin;

use sandpipe_protocol::ExecListResponse;
use sandpipe_protocol::sse::Decoder;
use wasm_bindgen::prelude::*;

use super::Execs;
use crate::batches::{Batches, Source};
use crate::error::{Error, Result};
use crate::operation::Operation;
use crate::request::{Request, read_json};
use crate::retry::{Failure, is_worth_repeating};
use crate::transport::{Body, Transport};
use crate::value::to_js;

#[wasm_bindgen]
impl Execs {
    /// The list of all execs (`{ execs }`), now and after every change, until it is closed.
    #[wasm_bindgen(js_name = streamList)]
    #[must_use]
    pub fn stream_list(&self) -> Batches {
        let transport = self.transport.part();
        let under_way = transport.in_flight.clone();
        Batches::new(under_way, ListReader::new(transport))
    }
}

const OPERATION: Operation = Operation::StreamList;

/// Reads the list, over as many connections as it takes: each begins with the list as it is.
struct ListReader {
    transport: Transport,
    decoder: Decoder,
    body: Option<Body>,
    /// How many connections in a row brought no list.
    failures: u32,
    /// The newest list, as it came: the one that a new connection begins with may be the same.
    newest: String,
}

impl ListReader {
    fn new(transport: Transport) -> Self {
        let decoder = Decoder::default();
        Self { transport, decoder, body: None, failures: 0, newest: String::new() }
    }

    /// The lists that the next chunk completes, at least one.
    async fn read(&mut self) -> Result<Vec<ExecListResponse>> {
        loop {
            match self.read_chunk().await {
                Ok(lists) if lists.is_empty() => {}
                Ok(lists) => return Ok(lists),
                Err(error) => {
                    self.body = None;
                    self.wait_to_reconnect(error).await?;
                }
            }
        }
    }

    /// The lists that the next chunk completes. An error ends the connection; so does its end.
    async fn read_chunk(&mut self) -> Result<Vec<ExecListResponse>> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                self.decoder = Decoder::default();
                let request = Request::stream(OPERATION, "/api/v1/stream/execs".to_owned());
                none.insert(self.transport.open(&request).await?)
            }
        };
        let Ok(chunk) = body.read_unless_silent().await else {
            self.body = None;
            return Ok(Vec::new());
        };
        let chunk = chunk?.ok_or_else(|| broken("the agent ended the list"))?;
        let mut events = Vec::new();
        self.decoder
            .feed(chunk, |event| events.push(event.data))
            .map_err(|error| broken(&error.to_string()))?;
        self.failures = 0;
        let mut lists = Vec::new();
        for data in events {
            if data != self.newest {
                lists.push(read_json(OPERATION, data.as_bytes())?);
                self.newest = data;
            }
        }
        Ok(lists)
    }

    async fn wait_to_reconnect(&mut self, error: Error) -> Result<()> {
        self.failures += 1;
        let retry = self.transport.retry();
        let ended = matches!(error, Error::Protocol { ref excerpt, .. } if excerpt.is_empty());
        if self.failures > retry.backoff.max_attempts || !(ended || is_worth_repeating(&error)) {
            return Err(error);
        }
        // The first time at once, as for output.
        let delay_ms = match (self.failures, error.retry_after_ms()) {
            (1, None) => 0.0,
            (failures, _) => retry.delay(failures, &error),
        };
        let failure =
            Failure { operation: OPERATION, attempt: self.failures, error: &error, delay_ms };
        match retry.verdict(&failure, true).await? {
            Some(delay_ms) => self.transport.pause(delay_ms).await,
            None => Err(error),
        }
    }
}

fn broken(problem: &str) -> Error {
    Error::Protocol { operation: OPERATION, problem: problem.to_owned(), excerpt: String::new() }
}

impl Source for ListReader {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async { to_js(&self.read().await?).map(Some) })
    }
}
