//! Streams as JS reads them: an array of what one network chunk completed, then the next.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Array, Promise, Uint8Array};
use sandpipe_client::execs::{ListStream, OutputReader};
use sandpipe_client::files::{FileReader, FileWatcher, TreeReader};
use sandpipe_client::output::Encoding;
use sandpipe_client::ports::PortStream;
use sandpipe_client::{AbortSignal, Result};
use wasm_bindgen::{JsCast, prelude::*};

use crate::events::EventBatch;
use crate::live_list::LiveList;
use crate::promise::promise;
use crate::results::to_js;

/// Where the batches come from.
#[allow(clippy::large_enum_variant)] // It is in a box.
enum Source {
    /// The events of an output. The memory of a batch serves the next one.
    Output(OutputReader, EventBatch),
    /// The list of all execs, one for all that a chunk brings.
    Lists(ListStream, LiveList),
    /// The bytes of a file, one `Uint8Array` for each chunk.
    File(FileReader),
    /// The ports that are listened on, one list for all that a chunk brings.
    Ports(PortStream),
    /// Changes in a directory. The first batch alone is empty: all watches are set.
    Changes(FileWatcher),
    /// The same of a tree. An empty one says that what follows is the beginning again.
    Tree(TreeReader),
}

impl Source {
    /// The next batch, an array that is not empty; None at the end.
    async fn next(&mut self) -> Result<Option<Array>> {
        match self {
            Self::Output(reader, batch) => {
                let has_events = reader.read_into(batch).await?;
                has_events.then(|| batch.take_array()).transpose()
            }
            Self::Lists(stream, list) => {
                for event in stream.next_events().await? {
                    list.apply(&event)?;
                }
                Ok(Some(Array::of1(&list.to_js()?)))
            }
            Self::File(reader) => {
                let mut batch = None;
                reader
                    .read_into(&mut |bytes| {
                        batch = Some(Array::of1(&Uint8Array::from(bytes)));
                        Ok(())
                    })
                    .await?;
                Ok(batch)
            }
            Self::Ports(stream) => Ok(Some(Array::of1(&to_js(&stream.next_list().await?)?))),
            Self::Changes(watcher) => {
                Ok(Some(to_js(&watcher.next_changes().await?)?.unchecked_into()))
            }
            Self::Tree(reader) => {
                let mut batch = None;
                reader
                    .read_into(&mut |bytes| {
                        batch = Some(Array::of1(&Uint8Array::from(bytes)));
                        Ok(())
                    })
                    .await?;
                Ok(batch)
            }
        }
    }
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
    source: Rc<RefCell<Option<Box<Source>>>>,
    closed: Rc<Cell<bool>>,
    under_way: AbortSignal,
}

impl Batches {
    /// The events of an output.
    pub(crate) fn of_output(reader: OutputReader, encoding: Encoding) -> Self {
        let (under_way, batch) = (reader.scope().clone(), EventBatch::new(encoding, None));
        Self::new(under_way, Source::Output(reader.in_encoding(encoding), batch))
    }

    /// The list of all execs, now and after every change.
    pub(crate) fn of_lists(stream: ListStream) -> Self {
        Self::new(stream.scope().clone(), Source::Lists(stream, LiveList::default()))
    }

    /// The bytes of a file.
    pub(crate) fn of_file(reader: FileReader) -> Self {
        Self::new(reader.scope().clone(), Source::File(reader))
    }

    /// The ports that are listened on, now and after every change.
    pub(crate) fn of_ports(stream: PortStream) -> Self {
        Self::new(stream.scope().clone(), Source::Ports(stream))
    }

    /// Changes in a directory.
    pub(crate) fn of_changes(watcher: FileWatcher) -> Self {
        Self::new(watcher.scope().clone(), Source::Changes(watcher))
    }

    /// The bytes of a tree.
    pub(crate) fn of_tree(reader: TreeReader) -> Self {
        Self::new(reader.scope().clone(), Source::Tree(reader))
    }

    /// The batches of a source; aborting `under_way` ends what it has under way.
    fn new(under_way: AbortSignal, source: Source) -> Self {
        let source = Rc::new(RefCell::new(Some(Box::new(source))));
        Self { source, closed: Rc::default(), under_way }
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
            let Some(batch) = batch? else {
                return Ok(JsValue::UNDEFINED);
            };
            place.replace(Some(source));
            Ok(batch.into())
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
