//! Streams as JS reads them: an array of what one network chunk completed, then the next.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use js_sys::Promise;
use wasm_bindgen::prelude::*;

use crate::promise::promise;
use crate::web::events::EventBatch;
use sandpipe_client::execs::OutputReader;
use sandpipe_client::{AbortSignal, Result};

/// Where the batches come from.
pub(crate) trait Source {
    /// The next batch, an array that is not empty; None at the end.
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>>;
}

/// wasm-bindgen's classes have no type parameters.
#[wasm_bindgen(typescript_custom_section)]
const BATCHES: &str = r"
/** A stream that is read batch by batch. It connects with the first read. */
export class Batches<T> {
    private constructor();
    /**
     * Resolves the next batch, which is not empty, or undefined at the end. One call at a time: a second one
     * meanwhile finds the end.
     */
    next(): Promise<T[] | undefined>;
    /** Closes the connection. What the stream shows goes on. */
    close(): void;
}
";

/// A stream that is read batch by batch.
#[wasm_bindgen(skip_typescript)]
pub struct Batches {
    /// None while it is being read, and once it has ended.
    source: Rc<RefCell<Option<Box<dyn Source>>>>,
    closed: Rc<Cell<bool>>,
    under_way: AbortSignal,
}

impl Batches {
    /// The events of an output.
    pub(crate) fn of_output(reader: OutputReader) -> Self {
        Self::new(reader.scope().clone(), OutputBatches { reader, batch: EventBatch::default() })
    }

    /// The batches of a source; aborting `under_way` ends what it has under way.
    pub(crate) fn new(under_way: AbortSignal, source: impl Source + 'static) -> Self {
        Self {
            source: Rc::new(RefCell::new(Some(Box::new(source)))),
            closed: Rc::default(),
            under_way,
        }
    }
}

#[wasm_bindgen]
impl Batches {
    /// Resolves the next batch, an array, or undefined.
    #[wasm_bindgen(skip_typescript)]
    pub fn next(&self) -> Promise {
        let (place, closed) = (self.source.clone(), self.closed.clone());
        let source = place.take();
        promise(Box::pin(async move {
            let Some(mut source) = source else {
                return Ok(JsValue::UNDEFINED);
            };
            let batch = source.next().await;
            if closed.get() {
                return Ok(JsValue::UNDEFINED);
            }
            match batch? {
                Some(batch) => {
                    place.replace(Some(source));
                    Ok(batch)
                }
                None => Ok(JsValue::UNDEFINED),
            }
        }))
    }

    /// Closes the connection.
    #[wasm_bindgen(skip_typescript)]
    pub fn close(&self) {
        self.closed.set(true);
        self.source.take();
        self.under_way.controller().abort(None);
    }
}

/// The events of an output as they are read.
struct OutputBatches {
    reader: OutputReader,
    /// Its memory serves batch after batch.
    batch: EventBatch,
}

impl Source for OutputBatches {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Option<JsValue>>> + '_>> {
        Box::pin(async {
            if self.reader.read_into(&mut self.batch).await? {
                return self.batch.take_array().map(|events| Some(events.into()));
            }
            Ok(None)
        })
    }
}
