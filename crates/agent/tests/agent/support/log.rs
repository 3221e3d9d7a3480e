//! What an agent writes on standard error.

use std::{
    collections::VecDeque,
    fmt,
    io::Read,
    process::ChildStderr,
    sync::{Arc, Mutex},
    thread,
};

/// How many bytes are kept, of the last ones.
const KEPT: usize = 32 * 1024;

/// The end of what an agent has written, for a test that fails.
#[derive(Clone, Debug, Default)]
pub(crate) struct Log(Arc<Mutex<VecDeque<u8>>>);

impl Log {
    /// Reads it on a thread of its own: an agent whose log nobody reads would wait.
    pub(super) fn of(mut stderr: ChildStderr) -> Self {
        let log = Self::default();
        let kept = log.clone();
        thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut some) {
                let mut kept = kept.0.lock().unwrap();
                kept.extend(&some[..count]);
                let rest = kept.len().saturating_sub(KEPT);
                kept.drain(..rest);
            }
        });
        log
    }
}

impl fmt::Display for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept: Vec<u8> = self.0.lock().unwrap().iter().copied().collect();
        formatter.write_str(&String::from_utf8_lossy(&kept))
    }
}
