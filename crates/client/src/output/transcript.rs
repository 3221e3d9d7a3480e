//! The output of an exec as it is collected.

use std::rc::Rc;

use sandpipe_text::Text;

use super::{Event, OutputSink};
use crate::error::OutputLimit;
use crate::{Error, ExecId, Host, HostText, Result};

/// How much text is handed to the host at once, in bytes of UTF-8. Smaller strings are moved about by V8's garbage
/// collector.
const TEXT_CHUNK_BYTES: usize = 512 * 1024;

/// What became of a command.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct ExecResult {
    /// The process's own exit code, 128 + N after death by signal N.
    pub exit_code: i32,
    /// Its stdout and stderr, joined in order of arrival.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub output: HostText,
}

/// The output of an exec as it is collected. The host keeps it, where it can be freed again: the memory of a WASM
/// module never shrinks.
pub(crate) struct Transcript {
    host: Rc<dyn Host>,
    exec_id: String,
    /// What the host has so far.
    output: HostText,
    /// What it has not yet.
    text: Text,
    bytes: u64,
    max_bytes: Option<u64>,
}

impl Transcript {
    /// Keeps at most so many bytes, counted as UTF-8.
    pub(crate) fn new(host: &Rc<dyn Host>, id: &ExecId, max_bytes: Option<u64>) -> Self {
        Self {
            host: host.clone(),
            exec_id: id.as_str().to_owned(),
            output: HostText::default(),
            text: Text::default(),
            bytes: 0,
            max_bytes,
        }
    }

    /// How many more bytes it may keep.
    fn remaining_bytes(&self) -> u64 {
        self.max_bytes.map_or(u64::MAX, |max| max - self.bytes)
    }

    /// Gives the host the text since the last time.
    ///
    /// # Errors
    /// The whole would be more than is allowed: what fits is kept. Or it would be more than the host
    /// can hold: the text is not kept.
    fn flush_text(&mut self) -> Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let mut exceeded = None;
        let remaining = self.remaining_bytes();
        if let Some(max) = self.max_bytes
            && self.text.utf8_length() as u64 > remaining
        {
            exceeded = Some(OutputLimit::Bytes(max));
            self.text.truncate_utf8(usize::try_from(remaining).unwrap_or(usize::MAX));
        }
        let max_length = self.host.max_text_length();
        let length = u64::from(self.output.length()) + self.text.length() as u64;
        if length <= u64::from(max_length) {
            let more = self.text.units();
            self.output = self.host.append_text(&self.output, more).map_err(Error::thrown)?;
            self.bytes += self.text.utf8_length() as u64;
        } else {
            exceeded = Some(OutputLimit::String(max_length));
        }
        self.text.clear();
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
    pub(crate) fn text(&mut self) -> (HostText, Result<()>) {
        let flushed = self.flush_text();
        (self.output.clone(), flushed)
    }

    /// All of it.
    ///
    /// # Errors
    /// It is more than is allowed, or than the host can hold.
    pub(crate) fn whole_text(&mut self) -> Result<HostText> {
        self.flush_text()?;
        Ok(self.output.clone())
    }
}

impl OutputSink for Transcript {
    fn take(&mut self, event: &Event<'_>) {
        event.output.append_to(&mut self.text);
    }

    fn flush(&mut self) -> Result<()> {
        let length = self.text.utf8_length();
        if length >= TEXT_CHUNK_BYTES || length as u64 > self.remaining_bytes() {
            self.flush_text()
        } else {
            Ok(())
        }
    }
}
