use std::{
    mem,
    sync::{PoisonError, RwLock, RwLockReadGuard},
};

/// Held by what would leave something behind if the worker ended in the middle of it.
static UNFINISHED: RwLock<()> = RwLock::new(());

/// Keeps the worker until it is dropped. It is for a few system calls.
pub(super) fn unfinished() -> RwLockReadGuard<'static, ()> {
    UNFINISHED.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until nothing is unfinished, and never will be again.
pub(super) fn finish() {
    mem::forget(UNFINISHED.write());
}
