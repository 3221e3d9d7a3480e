//! What makes the agent stop.

use std::{fs, io, io::Read, thread};

use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// The requests to stop, as they come.
#[derive(Debug)]
pub(crate) struct ShutdownRequests {
    requests: mpsc::Receiver<ShutdownRequest>,
    sender: mpsc::Sender<ShutdownRequest>,
    /// How many of them were signals.
    signals: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownRequest {
    Signal,
    StdinClosed,
}

impl ShutdownRequests {
    /// Listens to SIGTERM, SIGINT and SIGHUP.
    pub(crate) fn listen() -> io::Result<Self> {
        let (sender, requests) = mpsc::channel(2);
        let mut kinds = vec![SignalKind::terminate(), SignalKind::interrupt()];
        // `nohup` ignores it, so that what it runs outlives the terminal.
        if !ignores_hangup() {
            kinds.push(SignalKind::hangup());
        }
        for kind in kinds {
            let mut signals = signal(kind)?;
            let requests = sender.clone();
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    if requests.send(ShutdownRequest::Signal).await.is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Self { requests, sender, signals: 0 })
    }

    /// Listens to the end of standard input, too. Whatever else is read of it has been read before.
    pub(crate) fn listen_to_stdin(&self) -> io::Result<()> {
        let requests = self.sender.clone();
        // A thread of its own: a read of standard input can't be taken back, and would hold up
        // the end of the runtime.
        thread::Builder::new().name("stdin".into()).spawn(move || {
            wait_for_end(io::stdin().lock());
            // Nobody listens where the agent stops already.
            let _stopping = requests.blocking_send(ShutdownRequest::StdinClosed);
        })?;
        Ok(())
    }

    /// Takes the end of what reads standard input for its end.
    pub(crate) fn listen_to(&self, reader: impl Future<Output = ()> + Send + 'static) {
        let requests = self.sender.clone();
        tokio::spawn(async move {
            reader.await;
            let _stopping = requests.send(ShutdownRequest::StdinClosed).await;
        });
    }

    /// Waits for one that asks to stop gracefully.
    pub(crate) async fn stop(&mut self) {
        self.next().await;
    }

    /// Waits for one that asks to stop at once: the second signal. A parent that lets go of standard
    /// input and sends a signal too does not ask for that.
    pub(crate) async fn forced(&mut self) {
        while self.signals < 2 {
            self.next().await;
        }
    }

    async fn next(&mut self) {
        match self.requests.recv().await {
            Some(ShutdownRequest::Signal) => self.signals += 1,
            Some(ShutdownRequest::StdinClosed) => {}
            None => std::future::pending().await,
        }
    }
}

fn wait_for_end(mut input: impl Read) {
    let mut buffer = [0; 1024];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Whether the parent had SIGHUP ignored.
fn ignores_hangup() -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, 1))
}

/// Whether `/proc/PID/status` says that a signal is ignored: bit N-1 of a hexadecimal mask.
fn ignores(status: &str, signal: u32) -> bool {
    status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_mask_of_ignored_signals() {
        let status = "Name:\tx\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000000001001\n";
        assert!(ignores(status, 1));
        assert!(ignores(status, 13));
        assert!(!ignores(status, 2));
        assert!(!ignores("", 1));
    }
}
