use std::future::Future;
use std::pin::Pin;

use js_sys::{Array, Math};
use sandpipe_protocol::sse::Decoder;
use wasm_bindgen::prelude::*;

use super::Execs;
use super::live_list::LiveList;
use crate::batches::{Batches, Source};
use crate::features::Feature;
use crate::request::{Request, read_json};
use crate::retry::{Failure, is_worth_repeating};
use crate::transport::{Body, Transport};
use sandpipe_client::error::{Error, Result};
use sandpipe_client::http::reconnect::{Pause, ReconnectBackoff};
use sandpipe_client::operation::Operation;

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

/// Reads the list, over as many connections as it takes: each begins with the list as it is. What comes after it
/// is the list again, or with the extension `list-changes` what has changed.
struct ListReader {
    transport: Transport,
    decoder: Decoder,
    body: Option<Body>,
    /// How many attempts in a row to connect have failed.
    failures: u32,
    reconnects: ReconnectBackoff,
    /// The newest event, as it came: the list that a new connection begins with may be the same.
    newest: String,
    list: LiveList,
}

impl ListReader {
    fn new(transport: Transport) -> Self {
        let reconnects = ReconnectBackoff::new(transport.retry().backoff);
        let (decoder, newest, list) = Default::default();
        Self { transport, decoder, body: None, failures: 0, reconnects, newest, list }
    }

    /// The next list: one for all that a chunk brings.
    async fn read(&mut self) -> Result<JsValue> {
        loop {
            let error = match self.read_chunk().await {
                Ok(Some(false)) => continue,
                Ok(Some(true)) => {
                    self.reconnects.on_progress();
                    return self.list.to_js();
                }
                Ok(None) => None,
                Err(error) if is_worth_repeating(&error) => Some(error),
                Err(error) => return Err(error),
            };
            self.wait_to_reconnect(error).await?;
        }
    }

    /// Whether the next chunk has changed the list; None where the connection has ended.
    async fn read_chunk(&mut self) -> Result<Option<bool>> {
        let body = match &mut self.body {
            Some(body) => body,
            none => {
                self.decoder = Decoder::default();
                let changes = self.transport.offers(Feature::ListChanges).await?;
                let query = if changes { "?changes=true" } else { "" };
                let path = format!("/api/v1/stream/execs{query}");
                let request = Request::stream(OPERATION, path);
                let body = self.transport.open(&request).await?;
                self.failures = 0;
                none.insert(body)
            }
        };
        let Ok(chunk) = body.read_unless_silent().await else {
            // It may be dead, it may be idle: another one tells.
            self.body = None;
            return Ok(Some(false));
        };
        let Some(chunk) = chunk? else {
            return Ok(None);
        };
        let mut events = Vec::new();
        self.decoder.feed(chunk, &mut |event| events.push(event.text().into_owned())).map_err(
            |error| {
                let (problem, excerpt) = (error.to_string(), String::new());
                Error::Protocol { operation: OPERATION, problem, excerpt }
            },
        )?;
        let mut is_changed = false;
        for data in events {
            if !data.is_empty() && data != self.newest {
                self.list.apply(&read_json(OPERATION, data.as_bytes())?)?;
                self.newest = data;
                is_changed = true;
            }
        }
        Ok(Some(is_changed))
    }

    /// Waits after a connection that ended, or broke by an error.
    async fn wait_to_reconnect(&mut self, error: Option<Box<Error>>) -> Result<()> {
        let lasted_ms = if let Some(body) = self.body.take() {
            body.age()
        } else {
            self.failures += 1;
            0.0
        };
        let error = error.unwrap_or_else(|| {
            Box::new(Error::Protocol {
                operation: OPERATION,
                problem: "the agent ended the list without a change".to_owned(),
                excerpt: String::new(),
            })
        });
        let retry = self.transport.retry();
        if self.failures > retry.backoff.max_attempts {
            return Err(error);
        }
        let Pause { attempt, delay_ms } =
            self.reconnects.pause(lasted_ms, Math::random(), error.retry_after_ms());
        let failure = Failure { operation: OPERATION, attempt, error: &error, delay_ms };
        match retry.verdict(&failure, true).await? {
            Some(delay_ms) => self.transport.pause(delay_ms).await,
            None => Err(error),
        }
    }
}

impl Source for ListReader {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async { Ok(Some(Array::of1(&self.read().await?).into())) })
    }
}
