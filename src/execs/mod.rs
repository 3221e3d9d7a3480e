//! Execs: commands that the agent runs. One operation a file.

mod create;
mod delete;
mod exec;
mod follow;
mod get;
mod get_output;
mod input;
mod ladder;
mod list;
mod output_reader;
mod resume;
mod send_stdin;
mod signal;
mod start;
mod stop;
mod stop_requests;
mod stream_list;
mod stream_output;
mod terminate;
mod transcript;
mod wait;
mod wait_options;

use std::future::Future;

use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;

use crate::error::Result;
use crate::transport::Transport;

/// The client of an agent's execs.
///
/// Every call takes what it needs before it returns its promise, so that freeing this handle
/// meanwhile does no harm; a wrong argument rejects the promise as any other failure does.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Execs {
    transport: Transport,
}

impl Execs {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport }
    }
}

fn promise(outcome: impl Future<Output = Result<JsValue>> + 'static) -> Promise {
    future_to_promise(async { outcome.await.map_err(JsValue::from) })
}
