use std::sync::Arc;

use tokio::sync::oneshot;

use super::waker::Waker;

/// Sends the exit code of a process to the thread that waits for its output, and wakes it. One that is
/// dropped says that there will be none.
#[derive(Debug)]
pub(super) struct ExitSender {
    code: Option<oneshot::Sender<i32>>,
    waker: Arc<Waker>,
}

impl ExitSender {
    /// Also returns what receives it.
    pub(super) fn new(waker: Arc<Waker>) -> (Self, oneshot::Receiver<i32>) {
        let (code, exit) = oneshot::channel();
        (Self { code: Some(code), waker }, exit)
    }

    pub(super) fn send(mut self, exit_code: i32) {
        if let Some(code) = self.code.take() {
            // No receiver is left where the agent itself is about to end.
            let _gone = code.send(exit_code);
        }
    }
}

impl Drop for ExitSender {
    fn drop(&mut self) {
        drop(self.code.take());
        self.waker.wake();
    }
}
