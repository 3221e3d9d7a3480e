//! Execs: commands that the agent runs. One operation a file.

mod attach;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod errand;
pub(crate) mod event_list;
mod exec;
pub(crate) mod follow;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod get_output;
pub(crate) mod input;
mod list;
mod live_list;
mod output_lost;
pub(crate) mod output_reader;
mod resume;
mod run;
pub(crate) mod send_stdin;
pub(crate) mod signal;
pub(crate) mod sink;
mod start;
pub(crate) mod stop;
pub(crate) mod stop_requests;
mod stream_list;
pub(crate) mod stream_output;
pub(crate) mod terminate;
pub(crate) mod transcript;
pub(crate) mod wait;
pub(crate) mod wait_options;

use wasm_bindgen::prelude::*;

pub use self::event_list::make_events_with;
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
