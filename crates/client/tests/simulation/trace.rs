//! What happened in a run, for whoever looks for the reason of a failure.

use std::cell::RefCell;
use std::fmt;

use crate::executor::Executor;

/// The events of a run in order. It keeps none unless it is asked to: texts take longer than all else.
#[derive(Debug)]
pub(crate) struct Trace {
    executor: Executor,
    lines: Option<RefCell<Vec<String>>>,
}

impl Trace {
    pub(crate) fn new(executor: Executor, is_kept: bool) -> Self {
        Self { executor, lines: is_kept.then(RefCell::default) }
    }

    /// Adds an event.
    pub(crate) fn add(&self, event: impl FnOnce() -> String) {
        if let Some(lines) = &self.lines {
            let now_ms = self.executor.now_ms();
            lines.borrow_mut().push(format!("{now_ms:>12.3} ms  {}", event()));
        }
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines.as_ref().map(|lines| lines.borrow().join("\n"));
        f.write_str(&lines.unwrap_or_default())
    }
}
