//! Following an exec to its end.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::OutputEvent;

use super::id::ExecId;
use super::ladder::Trigger;
use super::output_reader::OutputReader;
use super::signal::ProcessGroup;
use super::stop::stop;
use super::stop_requests::{StopRequest, StopRequests};
use super::wait_options::WaitOptions;
use crate::agent::Agent;
use crate::call::{Call, call};
use crate::error::{Error, OutputLimit, Result, Stopped};
use crate::output::sink::OutputSink;
use crate::output::transcript::{ExecResult, Transcript};

/// Follows an exec that exists to its end.
pub fn wait(agent: &Agent, id: ExecId, options: WaitOptions) -> Call<ExecResult> {
    let stops = options.stop_requests(&**agent.http.host());
    let reader = OutputReader::new(agent.clone(), id, 0);
    follow_to_end(agent, reader, options, stops, Box::pin(pending()))
}

/// Follows an exec from its first event to its end; stops it when the options ask for that, or `stop_requested` does.
pub(crate) fn follow_to_end(
    agent: &Agent,
    reader: OutputReader,
    options: WaitOptions,
    stops: StopRequests,
    stop_requested: LocalBoxFuture<'static, StopRequest>,
) -> Call<ExecResult> {
    let agent = agent.clone();
    call(async move { follow_or_stop(&agent, reader, options, stops, stop_requested).await })
}

async fn follow_or_stop(
    agent: &Agent,
    mut reader: OutputReader,
    options: WaitOptions,
    mut stops: StopRequests,
    stop_requested: LocalBoxFuture<'static, StopRequest>,
) -> Result<ExecResult> {
    let WaitOptions { listener, max_output_bytes, grace_ms, .. } = options;
    let id = &reader.id().clone();
    let target = ProcessGroup::new(id);
    let transcript = Transcript::new(agent.http.host(), id, max_output_bytes);
    let mut record = OutputRecorder { transcript, listener };

    let (followed, stopped) = {
        let mut following = pin!(follow(&mut reader, &mut record));
        let first = {
            match select(following.as_mut(), select(stop_requested, pin!(stops.next()))).await {
                Either::Left((followed, _)) => Err(followed),
                Either::Right((request, _)) => Ok(request.factor_first().0),
            }
        };
        match first {
            Err(followed) => (followed, None),
            Ok(request) => {
                let mut followed = Ok(());
                let outcome = {
                    let ended = pin!(async { followed = following.await });
                    stop(agent, &target, request.trigger, grace_ms, &mut stops, ended).await
                };
                (followed, Some((request.why, outcome)))
            }
        }
    };
    if let Some((why, outcome)) = stopped {
        let (output, kept) = record.transcript.text();
        return Err(Error::Stopped(Stopped {
            exec_id: Some(id.as_str().to_owned()),
            why,
            output,
            forced: outcome.forced,
            unstopped: outcome.unstopped,
            incomplete: followed.and(kept).err(),
        })
        .into());
    }
    let Err(mut error) = followed else {
        return record.transcript.result(reader.exit_code());
    };
    match &mut *error {
        Error::ExitCodeMissing { output, .. } | Error::OutputLost { output, .. } => {
            // Some of it is missing anyway.
            (*output, _) = record.transcript.text();
        }
        Error::OutputLimit { limit: OutputLimit::Bytes(_), unstopped, .. } => {
            let ended = pin!(async { reader.drain().await.unwrap_or_default() });
            let outcome = stop(agent, &target, Trigger::Stop, grace_ms, &mut stops, ended).await;
            *unstopped = outcome.unstopped;
        }
        _ => {}
    }
    Err(error)
}

/// Reads up to the exit code.
async fn follow(reader: &mut OutputReader, sink: &mut dyn OutputSink) -> Result<()> {
    while reader.read_into(sink).await? {}
    Ok(())
}

/// Keeps the text, and hands each event to a listener.
struct OutputRecorder {
    transcript: Transcript,
    listener: Option<Box<dyn OutputSink>>,
}

impl OutputSink for OutputRecorder {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        if let Some(listener) = &mut self.listener {
            listener.read_output(json)?;
        }
        self.transcript.read_output(json)
    }

    fn take(&mut self, event: OutputEvent<'_>) {
        self.transcript.take(event);
        if let Some(listener) = &mut self.listener {
            listener.take(event);
        }
    }

    fn discard(&mut self) {
        self.transcript.discard();
        if let Some(listener) = &mut self.listener {
            listener.discard();
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.transcript.flush()?;
        match &mut self.listener {
            Some(listener) => listener.flush(),
            None => Ok(()),
        }
    }
}
