//! The output of an exec as it is collected.

use std::rc::Rc;

use super::{Encoding, Event, OutputBuffer, OutputSink, Runs};
use crate::error::OutputLimit;
use crate::{Error, ExecId, Host, HostOutput, Result};

/// How much output is handed to the host at once, in bytes. Smaller strings are moved about by V8's garbage
/// collector.
const CHUNK_BYTES: usize = 512 * 1024;

/// What became of a command.
#[derive(Clone, Debug)]
pub struct ExecResult {
    /// The process's own exit code, 128 + N after death by signal N.
    pub exit_code: i32,
    /// Its stdout and stderr, joined in order of arrival.
    pub output: HostOutput,
    /// The lengths of the parts of it that are of one stream, in UTF-16 code units or in bytes: stdout and stderr in turn. None
    /// where all is stdout.
    pub runs: Vec<u32>,
}

/// The output of an exec as it is collected. The host keeps it, where it can be freed again: the memory of a WASM
/// module never shrinks.
pub(crate) struct Transcript {
    host: Rc<dyn Host>,
    exec_id: String,
    /// What the host has so far.
    output: HostOutput,
    /// What it has not yet.
    unsent: OutputBuffer,
    runs: Runs,
    bytes: u64,
    max_bytes: Option<u64>,
}

impl Transcript {
    /// Keeps at most so many bytes; text is counted as UTF-8.
    pub(crate) fn new(
        host: &Rc<dyn Host>,
        id: &ExecId,
        encoding: Encoding,
        max_bytes: Option<u64>,
    ) -> Self {
        Self {
            host: host.clone(),
            exec_id: id.as_str().to_owned(),
            output: HostOutput::empty(encoding),
            unsent: OutputBuffer::new(encoding),
            runs: Runs::default(),
            bytes: 0,
            max_bytes,
        }
    }

    /// How many more bytes it may keep.
    fn remaining_bytes(&self) -> u64 {
        self.max_bytes.map_or(u64::MAX, |max| max - self.bytes)
    }

    /// Gives the host what has come since the last time.
    ///
    /// # Errors
    /// The whole would be more than is allowed: what fits is kept. Or it would be more than the host
    /// can hold: what has come is not kept.
    fn send(&mut self) -> Result<()> {
        if self.unsent.length() == 0 {
            return Ok(());
        }
        let mut exceeded = None;
        let remaining = self.remaining_bytes();
        if let Some(max) = self.max_bytes
            && self.unsent.bytes() as u64 > remaining
        {
            exceeded = Some(OutputLimit::Bytes(max));
            self.unsent.truncate(usize::try_from(remaining).unwrap_or(usize::MAX));
        }
        let max_length = match &self.unsent {
            OutputBuffer::Text(_) => self.host.max_text_length(),
            OutputBuffer::Bytes(_) => u32::MAX,
        };
        let length = u64::from(self.output.length()) + self.unsent.length() as u64;
        if length <= u64::from(max_length) {
            let appended = match &self.unsent {
                OutputBuffer::Text(text) => self.host.append_text(&self.output, text.units()),
                OutputBuffer::Bytes(bytes) => self.host.append_bytes(&self.output, bytes),
            };
            self.output = appended.map_err(Error::thrown)?;
            self.bytes += self.unsent.bytes() as u64;
        } else {
            exceeded = Some(match &self.unsent {
                OutputBuffer::Text(_) => OutputLimit::String(max_length),
                OutputBuffer::Bytes(_) => OutputLimit::Array(max_length),
            });
        }
        self.unsent.clear();
        match exceeded {
            None => Ok(()),
            Some(limit) => Err(Error::OutputLimit {
                exec_id: self.exec_id.clone(),
                limit,
                output: self.output.clone(),
                unstopped: None,
            }
            .into()),
        }
    }

    /// As much of it as fits, and why that is not all, if so.
    pub(crate) fn output(&mut self) -> (HostOutput, Result<()>) {
        let sent = self.send();
        (self.output.clone(), sent)
    }

    /// All of it.
    ///
    /// # Errors
    /// It is more than is allowed, or than the host can hold.
    pub(crate) fn whole_output(&mut self) -> Result<HostOutput> {
        self.send()?;
        Ok(self.output.clone())
    }

    /// The lengths of the parts of it that are of one stream, as [`ExecResult`] has them.
    pub(crate) fn take_runs(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.runs).into_lengths()
    }
}

impl OutputSink for Transcript {
    fn take(&mut self, event: &Event<'_>) {
        let before = self.unsent.length();
        self.unsent.push(&event.output);
        self.runs.push(event.kind, self.unsent.length() - before);
    }

    fn flush(&mut self) -> Result<()> {
        let length = self.unsent.bytes();
        if length >= CHUNK_BYTES || length as u64 > self.remaining_bytes() {
            self.send()
        } else {
            Ok(())
        }
    }
}
