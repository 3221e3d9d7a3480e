use std::sync::Arc;

use tokio::sync::oneshot;

use super::waker::Waker;

/// Tells the exit code of a process to the thread that waits for its output. One that is dropped tells
/// that there will be none.
#[derive(Debug)]
pub(super) struct Exited {
    code: Option<oneshot::Sender<i32>>,
    waker: Arc<Waker>,
}

impl Exited {
    /// Also gives where it is told.
    pub(super) fn new(waker: Arc<Waker>) -> (Self, oneshot::Receiver<i32>) {
        let (code, exit) = oneshot::channel();
        (Self { code: Some(code), waker }, exit)
    }

    pub(super) fn tell(mut self, exit_code: i32) {
        if let Some(code) = self.code.take() {
            // No receiver is left where the agent itself is about to end.
            let _gone = code.send(exit_code);
        }
    }
}

impl Drop for Exited {
    fn drop(&mut self) {
        drop(self.code.take());
        self.waker.wake();
    }
}
