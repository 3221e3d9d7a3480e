//! The client of background processes.

use std::rc::Rc;

use super::location::{Location, ProcessId};
use super::runtime::Runtime;
use crate::host::Host;

/// The client of the background processes below one directory of one target, which it asks by scripts.
///
/// It holds no state: another client, at another time, sees and does the same. Every call fails where the target can't
/// be asked, or can't do it.
#[derive(Clone, Debug)]
pub struct Background {
    pub(super) runtime: Rc<dyn Runtime>,
    pub(super) host: Rc<dyn Host>,
    pub(super) location: Location,
}

impl Background {
    /// The client of the processes at a place of a runtime's target.
    pub fn new(runtime: Rc<dyn Runtime>, host: Rc<dyn Host>, location: Location) -> Self {
        Self { runtime, host, location }
    }

    pub(super) fn now_ms(&self) -> f64 {
        self.host.now_ms()
    }

    pub(super) fn new_id(&self) -> ProcessId {
        ProcessId::of_bytes(self.host.random_bytes())
    }
}
