//! An exec as a terminal has it: its output, its keyboard, its exit code.

mod attachment;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod keyboard;
mod line;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use js_sys::Promise;
use sandpipe_protocol::TerminalSize;
use sandpipe_protocol::websocket::ClientFrame;
use wasm_bindgen::prelude::*;

use crate::arguments::{string, terminal_size};
use crate::batches::{Batches, Source};
use crate::execs::output_reader::OutputReader;
use crate::execs::stream_output::OutputStream;
use crate::execs::terminate::drain;
use crate::promise::promise;
use crate::request::ExecId;
use crate::transport::Transport;
use sandpipe_client::error::Result;

pub(crate) use attachment::{Ended, Events};
use keyboard::Keyboard;
pub(crate) use line::Line;

/// A terminal at an exec.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Terminal {
    transport: Transport,
    id: ExecId,
    line: Line,
    keyboard: Keyboard,
    /// What the output ended with.
    exit_code: Rc<Cell<Option<i32>>>,
}

impl Terminal {
    /// A terminal at an exec. It connects with the first read.
    pub(crate) fn new(transport: Transport, id: ExecId, line: Line) -> Self {
        let keyboard = Keyboard::new(transport.clone(), id.clone(), line.clone());
        Self { transport, id, line, keyboard, exit_code: Rc::default() }
    }
}

#[wasm_bindgen]
impl Terminal {
    /// The output (`ExecStdout`) from its beginning up to the exit code.
    #[must_use]
    pub fn output(&self) -> Batches {
        let transport = self.transport.part();
        let under_way = transport.in_flight.clone();
        let reader = OutputReader::attached(transport, self.id.clone(), 0, self.line.clone());
        Batches::new(
            under_way,
            Screen { stream: OutputStream::new(reader), exit_code: self.exit_code.clone() },
        )
    }

    /// Types a text.
    pub fn write(&self, text: &JsValue) -> Promise {
        let typed =
            string(text, "text").map(|input| self.keyboard.send(ClientFrame::Input { input }));
        promise(async { typed?.await.map(|()| JsValue::UNDEFINED) })
    }

    /// Sets the size.
    pub fn resize(&self, cols: &JsValue, rows: &JsValue) -> Promise {
        let sent = terminal_size(cols, rows)
            .map(|size: TerminalSize| self.keyboard.send(ClientFrame::Resize(size)));
        promise(async { sent?.await.map(|()| JsValue::UNDEFINED) })
    }

    /// Resolves the exit code. Where the output has not been read to its end, it is waited for over a
    /// connection of its own.
    pub fn exited(&self) -> Promise {
        let known = self.exit_code.clone();
        let (transport, id, line) = (self.transport.part(), self.id.clone(), self.line.another());
        promise(async move {
            if let Some(exit_code) = known.get() {
                return Ok(exit_code.into());
            }
            // The newest event and what follows: the exit code is in the last one.
            let mut reader = OutputReader::attached(transport, id, -1, line);
            drain(&mut reader).await?;
            let exit_code = reader.exit_code();
            exit_code.map(JsValue::from).ok_or_else(|| reader.exit_code_missing(None))
        })
    }

    /// Ends all connections. The command goes on.
    pub fn close(&self) {
        self.transport.in_flight.close();
    }
}

/// Reads the output and remembers what it ended with.
#[derive(Debug)]
struct Screen {
    stream: OutputStream,
    exit_code: Rc<Cell<Option<i32>>>,
}

impl Source for Screen {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            let batch = self.stream.next().await;
            self.exit_code.set(self.stream.exit_code());
            batch
        })
    }
}
