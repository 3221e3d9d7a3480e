use std::io;

use axum::{body::Bytes, extract::State, http::HeaderMap, response::Response};
use sandpipe_protocol::ExecStdout;

use super::{
    exec_path::ExecPath,
    responses::{ApiErrors, Failed, NoExec},
};
use crate::{
    execs::Exec,
    features::Feature,
    http::{
        App,
        error::ApiError,
        event_stream::{self, Source},
        output_format::OutputFormat,
    },
    output::{EventReader, Reader, ReaderItem, StartAfter, TextEvent},
};

/// Stream an exec's output as Server-Sent Events: what there is, then what comes, up to the event with
/// the exit code.
///
/// With the feature `gap`, an event named `gap` stands for events that were dropped: its data is
/// `{"from": N, "to": M}`, the numbers of the first and the last of them.
///
/// With the feature `frames` and `Accept: application/vnd.sandpipe.output` the answer is in binary frames, each a header of 21 bytes and a
/// payload, all numbers little-endian: the payload's length (32 bits), a type (8 bits), the sequence (64 bits), the time in
/// microseconds since 1970 (64 bits). The types are 1 stdout, 2 stderr (the process's bytes), 3 exit (the code, 32 bits), 4 gap (the
/// first and the last number, 64 bits each), 5 ping, 6 the exec (in the answer to a create), and 17 and 18: the first bytes of the
/// character that the next frame of stdout or stderr goes on with.
#[utoipa::path(
    get,
    path = "/api/v1/stream/execs/{id}/io",
    operation_id = "streamExecOutput",
    tag = "execs",
    params(
        ("id" = String, Path, description = "The exec's identifier"),
        (
            "lastSequence" = Option<i64>, Query,
            description = "Only the events after this one; with -N, the last N events and what follows"
        ),
    ),
    responses(
        (
            status = 200, description = "The events",
            content(
                (ExecStdout = "text/event-stream"), (Vec<u8> = "application/vnd.sandpipe.output")
            )
        ),
        ApiErrors, NoExec, Failed,
    )
)]
pub(crate) async fn stream_exec_output(
    State(app): State<App>,
    ExecPath(exec): ExecPath,
    start: StartAfter,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let format = OutputFormat::asked_for(&app, &headers).unwrap_or(OutputFormat::Events);
    let output = OutputStream::of(&app, &exec, start, format).await?;
    Ok(event_stream::respond(app.ping_interval, format, format.beginning(), output))
}

/// One exec's output, up to its end.
pub(super) struct OutputStream {
    output: OutputReader,
    format: OutputFormat,
    sends_gaps: bool,
}

enum OutputReader {
    /// The spool holds frames as they are sent.
    Frames(Reader),
    Events(EventReader),
}

impl OutputStream {
    pub(super) async fn of(
        app: &App,
        exec: &Exec,
        start: StartAfter,
        format: OutputFormat,
    ) -> Result<Self, ApiError> {
        let spool = exec.output().await.map_err(ApiError::internal)?;
        let output = match format {
            OutputFormat::Frames => OutputReader::Frames(Reader::follow(spool, start)),
            OutputFormat::Events => OutputReader::Events(EventReader::follow(spool, start)),
        };
        Ok(Self { output, format, sends_gaps: app.features.has(Feature::Gap) })
    }
}

impl Source for OutputStream {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        while let Some(item) = self.output.next().await? {
            match item {
                ReaderItem::Bytes(bytes) => return Ok(Some(bytes)),
                ReaderItem::Gap(gap) if self.sends_gaps => {
                    return Ok(Some(self.format.gap(gap)?));
                }
                // The jump in `sequence` tells it.
                ReaderItem::Gap(_) => {}
            }
        }
        Ok(None)
    }
}

impl OutputReader {
    async fn next(&mut self) -> io::Result<Option<ReaderItem>> {
        let events = match self {
            Self::Frames(frames) => return frames.next().await,
            Self::Events(events) => events,
        };
        let write = |event: &TextEvent<'_>, bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(b"data: ");
            // JSON has no line ends, so it is one line of data.
            event.write_json(bytes);
            bytes.extend_from_slice(b"\n\n");
        };
        events.next_written(write).await
    }
}
