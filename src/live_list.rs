//! The list of all execs as an agent sends it: once whole, then what changes.

use js_sys::{Array, Map, Object, Reflect};
use sandpipe_client::Result;
use sandpipe_client::execs::ListEvent;
use wasm_bindgen::prelude::*;

use crate::results::to_js;
use crate::web::value::thrown;

/// The list in JS. Of an exec that has not changed it keeps the object, so that a change costs little more than
/// what has changed.
#[derive(Debug, Default)]
pub(crate) struct LiveList {
    /// The `ExecItem`s by their ids, the oldest first: a map is in the order in which its keys came.
    items: Map,
}

impl LiveList {
    pub(crate) fn apply(&mut self, event: &ListEvent) -> Result<()> {
        if event.is_snapshot {
            self.items.clear();
        }
        for id in &event.removed {
            self.items.delete(&id.into());
        }
        let objects: Array = to_js(&event.execs)?.unchecked_into();
        for (exec, object) in event.execs.iter().zip(objects.iter()).rev() {
            self.items.set(&exec.id.as_str().into(), &object);
        }
        Ok(())
    }

    /// `{ execs }`, with an array of the caller's own, newest first.
    pub(crate) fn to_js(&self) -> Result<JsValue> {
        let list = Object::new();
        let execs = Array::from(&self.items.values()).reverse();
        Reflect::set(&list, &"execs".into(), &execs).map_err(thrown)?;
        Ok(list.into())
    }
}
