//! Background processes: they outlive whoever started them, and all there is to know of them is in
//! files on the target. One operation a file: what it takes, its script, what the answer means. The
//! scripts themselves are in `sh/`.

mod answer;
#[cfg(feature = "fuzz")]
pub(crate) mod fuzz;
mod get;
mod lines;
mod list;
mod location;
mod process;
mod read_options;
mod read_output;
mod remove;
mod run;
mod runtime;
mod script;
mod spawn;
mod terminate;
mod wait;

use wasm_bindgen::prelude::*;

use location::Location;
use runtime::Runtime;

use crate::errors::or_throw;

/// The client of the background processes below one directory of one target.
///
/// It holds no state: another client, at another time, sees and does the same.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Background {
    runtime: Runtime,
    location: Location,
}

#[wasm_bindgen]
impl Background {
    /// `run` is called with a script and `{ signal? }` and resolves `{ exitCode, output }`; `options`
    /// are `{ baseDir?, workspace? }`.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(constructor)]
    pub fn new(run: &JsValue, options: &JsValue) -> Result<Self, JsValue> {
        or_throw(
            Runtime::read(run)
                .and_then(|runtime| Ok(Self { runtime, location: Location::read(options)? })),
        )
    }
}
