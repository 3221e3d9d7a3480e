//! The list of all execs as an agent tells of it: once whole, then what changes.

use js_sys::{Array, Map, Object, Reflect};
use sandpipe_protocol::ExecItem;
use sandpipe_protocol::json::{FromJson, Problem, Value};
use wasm_bindgen::prelude::*;

use crate::errors::thrown;
use crate::value::to_js;
use sandpipe_client::error::Result;

/// What an event of the list's stream says; also the list by itself.
#[derive(Debug)]
pub(crate) struct ListEvent {
    /// These are all execs, and not only those that are new or have changed.
    is_whole: bool,
    /// The newest first. One that is new is newer than all before.
    pub(super) execs: Vec<ExecItem>,
    /// The ids of those that are gone.
    removed: Vec<String>,
}

impl FromJson for ListEvent {
    fn from_json(value: &Value<'_>) -> std::result::Result<Self, Problem> {
        if value.find("changed")?.is_none() {
            return Ok(Self { is_whole: true, execs: value.field("execs")?, removed: Vec::new() });
        }
        let (execs, removed) = (value.field("changed")?, value.field("removed")?);
        Ok(Self { is_whole: false, execs, removed })
    }
}

/// The list in JS. Of an exec that has not changed it keeps the object, so that a change costs little more than
/// what has changed.
#[derive(Debug, Default)]
pub(crate) struct LiveList {
    /// The `ExecItem`s by their ids, the oldest first: a map is in the order in which its keys came.
    items: Map,
}

impl LiveList {
    pub(crate) fn apply(&mut self, event: &ListEvent) -> Result<()> {
        if event.is_whole {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_list_or_changes() {
        let is_whole = |text: &str| {
            sandpipe_protocol::json::read::<ListEvent>(text.as_bytes()).map(|event| event.is_whole)
        };
        assert_eq!(is_whole(r#"{"execs":[]}"#), Ok(true));
        assert_eq!(is_whole(r#"{"changed":[],"removed":["x"]}"#), Ok(false));
        for wrong in ["{}", r#"{"changed":[]}"#, r#"{"removed":[]}"#, "[]", "1"] {
            assert!(is_whole(wrong).is_err(), "{wrong}");
        }
    }
}
