//! An exec as a terminal has it: its output, its input, its exit code.

use js_sys::{JsString, Number, Promise};
use sandpipe_client::output::Encoding;
use sandpipe_client::terminal;
use wasm_bindgen::prelude::*;

use crate::arguments::{string, terminal_size};
use crate::batches::Batches;
use crate::promise::{nothing, promise_of};

/// A terminal at an exec.
#[wasm_bindgen]
pub struct Terminal(pub(crate) terminal::Terminal);

#[wasm_bindgen]
impl Terminal {
    /// The output (`ExecStdout`) from its beginning up to the exit code.
    #[wasm_bindgen(unchecked_return_type = "Batches<ExecStdout>")]
    #[must_use]
    pub fn output(&self) -> Batches {
        Batches::of_output(self.0.output(), Encoding::Utf8)
    }

    /// Types a text.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn write(&self, text: &JsString) -> Promise {
        let typed = string(text, "text").map(|input| self.0.write(input));
        promise_of(typed, nothing)
    }

    /// Sets the size.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn resize(&self, cols: &Number, rows: &Number) -> Promise {
        let sent = terminal_size(cols, rows).map(|size| self.0.resize(size));
        promise_of(sent, nothing)
    }

    /// Resolves the exit code. Where the output has not been read to its end, it is waited for over a
    /// connection of its own.
    #[wasm_bindgen(unchecked_return_type = "Promise<number>")]
    pub fn exited(&self) -> Promise {
        promise_of(Ok(self.0.exited()), |exit_code| Ok(exit_code.into()))
    }

    /// Ends all connections. The command goes on.
    pub fn close(&self) {
        self.0.close();
    }
}
