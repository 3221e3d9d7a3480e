//! Waiting for a port that is listened on.

use super::duration::{Slice, whole_milliseconds};
use super::get::read_report;
use super::read_options::{MAX_BYTES, ReadOptions, Start, Stream};
use super::script::sh;
use super::target::ScriptCall;
use super::{Background, BackgroundProcess, ProcessId};
use crate::error::NotReady;
use crate::output::LastOutput;
use crate::{AbortSignal, Call, Error, Result, WaitLimits};

/// How much of the end of the output an error has, in bytes.
const LAST_OUTPUT_BYTES: u64 = 4 * 1024;

/// What a script has seen.
enum Seen {
    Listening,
    Waiting,
    /// The process has ended, and nobody listens.
    Ended(Box<BackgroundProcess>),
}

impl Background {
    /// Waits until somebody listens on a TCP port of the target, at whatever address, or the process ends: on the target,
    /// slice by slice.
    pub fn wait_for_port(&self, id: ProcessId, port: u16, limits: WaitLimits) -> Call<()> {
        let background = self.clone();
        Box::pin(async move {
            let timeout_ms = limits.timeout_ms.unwrap_or(f64::INFINITY);
            let deadline = background.now_ms() + timeout_ms;
            loop {
                let slice = Slice::until(deadline - background.now_ms());
                match background.look_for_port(&id, port, slice, limits.signal.as_ref()).await? {
                    Seen::Listening => return Ok(()),
                    Seen::Ended(process) => {
                        return Err(background.ended(id, port, &process).await?);
                    }
                    Seen::Waiting if slice.is_last => {
                        return Err(Box::new(Error::WaitTimedOut {
                            waited_for: format!("port {port}"),
                            milliseconds: timeout_ms,
                            exec_id: None,
                            output: crate::HostOutput::default(),
                        }));
                    }
                    Seen::Waiting => {}
                }
            }
        })
    }

    async fn look_for_port(
        &self,
        id: &ProcessId,
        port: u16,
        slice: Slice,
        signal: Option<&AbortSignal>,
    ) -> Result<Seen> {
        let purpose = ScriptCall::new("wait for port", id.clone());
        let script = self
            .location
            .script_of(id)
            .word("port", &format!("{port:04X}"))
            .word("wait", &whole_milliseconds(slice.milliseconds).to_string())
            .part(sh!("pause"))
            .part(sh!("reader"))
            .part(sh!("wait_for_port"));
        self.run_until(&purpose, &script, signal).await?.take(&purpose, |answer| {
            if answer.section("listening").is_some() {
                return Some(Seen::Listening);
            }
            match answer.section("waiting") {
                Some(_) => Some(Seen::Waiting),
                None => Some(Seen::Ended(Box::new(read_report(answer)?))),
            }
        })
    }

    /// The error of a process that has ended.
    async fn ended(
        &self,
        id: ProcessId,
        port: u16,
        process: &BackgroundProcess,
    ) -> Result<Box<Error>> {
        let end_of_output = ReadOptions {
            stream: Stream::Both,
            start: Start::Tail(LAST_OUTPUT_BYTES),
            max_bytes: MAX_BYTES,
            filter: None,
            wait_ms: 0.0,
        };
        let mut last = LastOutput::default();
        last.push(&self.read_window(&id, &end_of_output).await?.chunk.output);
        Ok(Box::new(Error::NotReady(NotReady {
            subject: format!("process {}", id.as_str()),
            waited_for: format!("port {port} was listened on"),
            exec_id: None,
            id: Some(id.as_str().to_owned()),
            exit_code: process.exit_code,
            output: last.to_host(&*self.host),
            last_line: last.line(),
        })))
    }
}
