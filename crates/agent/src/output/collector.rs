use std::sync::Arc;

use sandpipe_protocol::OutputType;

use super::{decoder::Decoder, spool::Spool};

/// Brings a process's bytes into its spool: decodes each stream by itself and numbers the pieces over
/// both.
pub(crate) struct Collector {
    spool: Arc<Spool>,
    stdout: Decoder,
    stderr: Decoder,
}

impl Collector {
    pub(crate) fn new(spool: Arc<Spool>) -> Self {
        Self { spool, stdout: Decoder::new(), stderr: Decoder::new() }
    }

    /// Takes the next bytes of a stream. It writes to disk, so it may block.
    pub(crate) fn push(&mut self, kind: OutputType, bytes: &[u8]) {
        let mut batch = self.spool.batch();
        let decoder = match kind {
            OutputType::Stdout => &mut self.stdout,
            OutputType::Stderr => &mut self.stderr,
        };
        decoder.push(bytes, |text| batch.append(kind, text));
    }

    /// Takes what still waits for the rest of a character. It writes to disk, so it may block.
    pub(crate) fn finish(&mut self) {
        let mut batch = self.spool.batch();
        self.stdout.finish(|text| batch.append(OutputType::Stdout, text));
        self.stderr.finish(|text| batch.append(OutputType::Stderr, text));
    }
}
