//! Waiting for a text in the output of an exec.

use futures_util::future::{Either, LocalBoxFuture, select};
use sandpipe_protocol::{ExecStdout, OutputType};

use super::OutputReader;
use crate::error::NotReady;
use crate::output::{FoundText, MatchValue, OutputSearch, Pattern};
use crate::wait_limits::WaitEnd;
use crate::{Agent, Call, Error, ExecId, Result, WaitLimits};

/// How long to wait for the rest of what a regular expression has found at the end of what has come: a number may be cut
/// in two. In milliseconds.
pub(crate) const REST_TIMEOUT_MS: f64 = 100.0;

/// How to wait for a text in an output.
pub struct WaitForOutputOptions {
    /// When to give up. The exec goes on.
    pub limits: WaitLimits,
    /// Only the events after this one are looked through; -N: the last N and what follows.
    pub last_sequence: i64,
}

/// A text in an output that was waited for.
pub struct FoundOutput {
    /// The text.
    pub value: MatchValue,
    /// The event that brought its end.
    pub event: ExecStdout,
}

/// Waits for a text in the output of an exec, in either stream. What has come already is looked through at once.
///
/// # Errors
/// [`Error::NotReady`] where the process ends without it, [`Error::WaitTimedOut`], the reason of the signal, and those of
/// reading an output.
pub fn wait_for_output(
    agent: &Agent,
    id: ExecId,
    pattern: Pattern,
    options: WaitForOutputOptions,
) -> Call<FoundOutput> {
    let agent = agent.clone();
    let mut end = options.limits.end(&**agent.http.host());
    Box::pin(async move {
        let mut reader = OutputReader::new(agent.clone(), id, options.last_sequence);
        let mut search = OutputSearch::new(pattern.clone());
        let outcome = find(&agent, &mut reader, &mut search, &mut end).await;
        let outcome = match outcome {
            Ok(Outcome::Found(found)) => return Ok(found),
            Ok(outcome) => outcome,
            Err(mut error) => {
                if let Error::ExitCodeMissing { output, .. } = &mut *error {
                    *output = search.last_output.to_host(&**agent.http.host());
                }
                return Err(error);
            }
        };
        let exec_id = Some(reader.id().as_str().to_owned());
        let output = search.last_output.to_host(&**agent.http.host());
        Err(match outcome {
            Outcome::Stopped(end) => end.into_error(|milliseconds| Error::WaitTimedOut {
                waited_for: waited_for(reader.id(), &pattern),
                milliseconds,
                exec_id,
                output,
            }),
            _ => Box::new(Error::NotReady(NotReady {
                subject: format!("exec {}", reader.id().as_str()),
                waited_for: format!("{} was in its output", pattern.describe()),
                exec_id,
                id: None,
                exit_code: reader.exit_code(),
                output,
                last_line: search.last_output.line(),
            })),
        })
    })
}

fn waited_for(id: &ExecId, pattern: &Pattern) -> String {
    format!("{} in the output of exec {}", pattern.describe(), id.as_str())
}

enum Outcome {
    Found(FoundOutput),
    /// The output has ended.
    Ended,
    Stopped(WaitEnd),
}

async fn find(
    agent: &Agent,
    reader: &mut OutputReader,
    search: &mut OutputSearch,
    end: &mut LocalBoxFuture<'static, WaitEnd>,
) -> Result<Outcome> {
    // What was found and may go on.
    let mut found = None;
    let mut rest_timeout = agent.http.host().sleep(f64::INFINITY);
    loop {
        let read = {
            let reading = Box::pin(reader.read());
            match select(reading, select(&mut rest_timeout, &mut *end)).await {
                Either::Left((read, _)) => read?,
                Either::Right((Either::Left(_), _)) => None,
                Either::Right((Either::Right((end, _)), _)) => return Ok(Outcome::Stopped(end)),
            }
        };
        let Some(events) = read else {
            return Ok(found.map_or(Outcome::Ended, Outcome::Found));
        };
        for event in &events {
            search.push(event.kind, &event.output);
        }
        let before = found.take_if(|found: &mut FoundOutput| {
            // More of its stream has come, with which it may be another one, or none.
            events.iter().any(|event| event.kind == found.event.kind && !event.output.is_empty())
        });
        let Some(FoundText { stream, value, bytes_behind, is_final }) = search.find()? else {
            continue;
        };
        // It may have ended in one that came before.
        let event = event_of_end(&events, stream, bytes_behind).cloned();
        let Some(event) = event.or(before.map(|before| before.event)) else {
            continue;
        };
        let output = FoundOutput { value, event };
        if is_final {
            return Ok(Outcome::Found(output));
        }
        found = Some(output);
        rest_timeout = agent.http.host().sleep(REST_TIMEOUT_MS);
    }
}

/// The event behind whose end so many bytes of its stream have come, or fewer.
fn event_of_end(
    events: &[ExecStdout],
    stream: OutputType,
    bytes_behind: usize,
) -> Option<&ExecStdout> {
    let mut behind = 0;
    events.iter().rev().filter(|event| event.kind == stream).find(|event| {
        behind += event.output.len();
        behind > bytes_behind
    })
}
