//! The output that there is of an exec by now.

use sandpipe_protocol::Gap;
use sandpipe_protocol::json;

use super::bytes::no_bytes;
use super::output_lost::with_circumstances;
use crate::http::{FRAMES_OR_JSON, MediaType, Request};
use crate::output::{Decoder, Encoding, Follower, OutputFault, OutputSink, Transcript};
use crate::{Agent, Call, Error, ExecId, HostOutput, Operation, Result};

const OPERATION: Operation = Operation::GetOutput;

/// An exec's output up to now.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct ExecSnapshot {
    /// The exit code, if the process has ended and its last event is among those asked for.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub exit_code: Option<i32>,
    /// Its stdout and stderr, joined in order of arrival.
    #[cfg_attr(feature = "typescript", tsify(type = "string"))]
    pub output: HostOutput,
    /// The sequence number of the newest event that there is, where another call goes on; without any, the one that was asked
    /// for, 0 in place of a negative one.
    pub last_sequence: f64,
}

/// What there is now of an exec's output after `last_sequence`.
pub fn get_output(agent: &Agent, id: ExecId, last_sequence: i64) -> Call<ExecSnapshot> {
    let agent = agent.clone();
    Box::pin(async move {
        let attempt = async || {
            let mut transcript = Transcript::new(agent.http.host(), &id, Encoding::Utf8, None);
            let mut follower = Follower::after(last_sequence);
            read(&agent, &id, Encoding::Utf8, &mut follower, &mut transcript).await?;
            let output = transcript.whole_output()?;
            #[allow(clippy::cast_precision_loss)] // Nobody counts so far.
            let last_sequence = follower.last_sequence().max(0) as f64;
            Ok(ExecSnapshot { exit_code: follower.exit_code, output, last_sequence })
        };
        match agent.http.repeat(OPERATION, |_| true, attempt).await {
            Err(error) => Err(with_circumstances(error, &agent, &id).await),
            outcome => outcome,
        }
    })
}

/// Reads the events that exist after those that a follower has had into a sink. That it succeeds shows that there are no
/// others.
pub(super) async fn read(
    agent: &Agent,
    id: &ExecId,
    encoding: Encoding,
    follower: &mut Follower,
    sink: &mut dyn OutputSink,
) -> Result<()> {
    let path = id.path(&format!("/io?lastSequence={}", follower.last_sequence()));
    let request = Request { accept: FRAMES_OR_JSON, ..Request::get(OPERATION, path) };
    let mut body = agent.http.open(&request).await.map_err(|error| gap_error(error, id))?;
    if encoding == Encoding::Bytes && body.media_type != MediaType::Frames {
        return Err(no_bytes());
    }
    let mut decoder = Decoder::of(body.media_type);
    let error = |fault: OutputFault| fault.into_error(OPERATION, id);
    loop {
        let Ok(chunk) = body.read_unless_idle().await else {
            return Err(body.cut_off("the rest of the output did not come within 45 s"));
        };
        let Some(chunk) = chunk? else {
            break;
        };
        follower.feed(&mut decoder, chunk, sink).map_err(error)?;
        sink.flush()?;
    }
    if !decoder.is_complete() {
        return Err(error(OutputFault::protocol("the output is cut off", &[])));
    }
    Ok(())
}

/// The extension `gap`: a 410 with the numbers of the events that are gone.
fn gap_error(error: Box<Error>, id: &ExecId) -> Box<Error> {
    match &*error {
        Error::Http { status: 410, body, .. } => match json::read::<Gap>(body.as_bytes()) {
            Ok(gap) => OutputFault::from(gap).into_error(OPERATION, id),
            Err(_) => error,
        },
        _ => error,
    }
}
