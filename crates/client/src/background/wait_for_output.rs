//! Waiting for a text in the output of a process.

use sandpipe_protocol::OutputType;

use super::duration::{Slice, whole_milliseconds};
use super::read_options::{MAX_BYTES, ReadOptions, Start, Stream};
use super::read_output::{Window, read_window};
use super::target::ScriptCall;
use super::{Background, BackgroundStatus, ProcessId};
use crate::error::NotReady;
use crate::execs::REST_TIMEOUT_MS;
use crate::output::{MatchValue, OutputSearch, Pattern};
use crate::{AbortSignal, Call, Error, Result, WaitLimits};

/// How to wait for a text in the output of a process.
pub struct BackgroundWaitForOutputOptions {
    /// When to give up. The process goes on.
    pub limits: WaitLimits,
    /// Where in the output of both streams to begin, in bytes.
    pub offset: u64,
}

/// A text in the output of a process that was waited for.
#[derive(Debug)]
pub struct BackgroundFoundOutput {
    /// The text.
    pub value: MatchValue,
    /// The stream that it is in.
    pub stream: OutputType,
    /// Where in the output of both streams a read goes on behind the piece that brought its end.
    pub next_offset: u64,
}

impl Background {
    /// Waits for a text in the output of a process, in either stream: on the target, slice by slice. What is there already
    /// is looked through at once.
    pub fn wait_for_output(
        &self,
        id: ProcessId,
        pattern: Pattern,
        options: BackgroundWaitForOutputOptions,
    ) -> Call<BackgroundFoundOutput> {
        let background = self.clone();
        Box::pin(async move {
            let BackgroundWaitForOutputOptions { limits, mut offset } = options;
            let timeout_ms = limits.timeout_ms.unwrap_or(f64::INFINITY);
            let deadline = background.now_ms() + timeout_ms;
            let mut search = OutputSearch::new(pattern.clone());
            // What was found and may go on.
            let mut found: Option<BackgroundFoundOutput> = None;
            loop {
                let mut slice = Slice::until(deadline - background.now_ms());
                if found.is_some() {
                    slice.milliseconds = slice.milliseconds.min(REST_TIMEOUT_MS);
                }
                let signal = limits.signal.as_ref();
                let (window, pieces) = background.read_pieces(&id, offset, slice, signal).await?;
                offset = window.chunk.next_offset;
                for (stream, text) in &pieces {
                    search.push(*stream, text);
                }
                let before = found.take_if(|found| {
                    // More of its stream has come, with which it may be another one, or none.
                    pieces.iter().any(|(stream, _)| *stream == found.stream)
                });
                if let Some(text) = search.find()? {
                    let ends_here = pieces.iter().any(|(stream, _)| *stream == text.stream);
                    let next_offset =
                        before.filter(|_| !ends_here).map_or(offset, |before| before.next_offset);
                    let value = text.value;
                    let output = BackgroundFoundOutput { value, stream: text.stream, next_offset };
                    if text.is_final {
                        return Ok(output);
                    }
                    found = Some(output);
                }
                if !pieces.is_empty() {
                    continue;
                }
                if let Some(found) = found {
                    return Ok(found);
                }
                if window.chunk.status != BackgroundStatus::Running {
                    return Err(Box::new(Error::NotReady(NotReady {
                        subject: format!("process {}", id.as_str()),
                        waited_for: format!("{} was in its output", pattern.describe()),
                        exec_id: None,
                        id: Some(id.as_str().to_owned()),
                        exit_code: window.chunk.exit_code,
                        output: search.last_output.to_host(&*background.host),
                        last_line: search.last_output.line(),
                    })));
                }
                if slice.is_last {
                    return Err(Box::new(Error::WaitTimedOut {
                        waited_for: format!(
                            "{} in the output of process {}",
                            pattern.describe(),
                            id.as_str()
                        ),
                        milliseconds: timeout_ms,
                        exec_id: None,
                        output: search.last_output.to_host(&*background.host),
                    }));
                }
            }
        })
    }

    /// What there is of the output from a place on, by streams; where there is nothing, it is waited for.
    async fn read_pieces(
        &self,
        id: &ProcessId,
        offset: u64,
        slice: Slice,
        signal: Option<&AbortSignal>,
    ) -> Result<(Window, Vec<(OutputType, String)>)> {
        let purpose = ScriptCall::new("wait for output", id.clone());
        let options = ReadOptions {
            stream: Stream::Both,
            start: Start::Offset(offset),
            max_bytes: MAX_BYTES,
            filter: None,
            wait_ms: slice.milliseconds,
        };
        let wait_ms = whole_milliseconds(slice.milliseconds);
        let script = options.script(self.location.script_of(id), options.start, wait_ms);
        self.run_until(&purpose, &script, signal).await?.take(&purpose, |answer| {
            let pieces = answer.sections(&["stdout", "stderr"]).map(|(name, text)| {
                let stream = if name == "stdout" { OutputType::Stdout } else { OutputType::Stderr };
                (stream, text.to_owned())
            });
            let pieces = pieces.filter(|(_, text)| !text.is_empty()).collect();
            Some((read_window(answer, None)?, pieces))
        })
    }
}
