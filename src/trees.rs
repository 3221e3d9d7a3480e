//! Trees of files as tar streams. js/node/ packs and unpacks them.

use std::rc::Rc;

use js_sys::{Array, Function, Object, Promise};
use sandpipe_client::HostValue;
use sandpipe_client::files::{TreeReader, write_tree};
use sandpipe_client::host::TarSource;
use wasm_bindgen::prelude::*;

use crate::batches::Batches;
use crate::errors::or_throw;
use crate::file_options::{target, whole};
use crate::promise::{nothing, promise_of};
use crate::sandbox::Sandbox;

#[wasm_bindgen]
impl Sandbox {
    /// The tar stream of a directory, or of a file, chunk by chunk. After an empty chunk it begins again.
    ///
    /// # Errors
    /// `invalid_argument`.
    #[wasm_bindgen(js_name = readTree, unchecked_return_type = "Batches<Uint8Array>")]
    pub fn read_tree(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "readonly string[]")] exclude: &Array,
        #[wasm_bindgen(unchecked_param_type = "FileOptions")] options: &Object,
    ) -> Result<Batches, JsValue> {
        let target = or_throw(target(path, "path", options))?;
        let exclude: Vec<String> = exclude.iter().filter_map(|one| one.as_string()).collect();
        Ok(Batches::of_tree(TreeReader::new(self.agent.child(), &target, &exclude)))
    }

    /// Has a tar stream unpacked into a directory. `open` gives it, for each request anew.
    #[wasm_bindgen(js_name = writeTree, unchecked_return_type = "Promise<void>")]
    pub fn write_tree(
        &self,
        #[wasm_bindgen(unchecked_param_type = "FilePath")] path: &JsValue,
        #[wasm_bindgen(unchecked_param_type = "() => object")] open: Function,
        #[wasm_bindgen(unchecked_param_type = "ReadFileOptions")] options: &Object,
    ) -> Promise {
        let source = TarSource(Rc::new(move || {
            open.call0(&JsValue::UNDEFINED).map(HostValue::new).map_err(HostValue::new)
        }));
        let written = whole(path, options)
            .map(|(target, signal)| write_tree(&self.agent, &target, source, signal));
        promise_of(written, nothing)
    }
}
