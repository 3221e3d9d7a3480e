//! Changes that a test makes between two system calls of a watcher.

use std::cell::RefCell;

thread_local! {
    static CHANGE: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
}

/// Sets a change that this thread makes before and after it opens a directory.
pub(super) fn set(change: impl FnMut() + 'static) {
    CHANGE.set(Some(Box::new(change)));
}

pub(super) fn clear() {
    CHANGE.set(None);
}

pub(super) fn run() {
    CHANGE.with_borrow_mut(|change| {
        if let Some(change) = change {
            change();
        }
    });
}
