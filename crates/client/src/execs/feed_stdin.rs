//! Feeding a command's standard input up to its end.

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::{ExecStatus, ExecStdin, StdinType};

use super::{get, send_stdin};
use crate::{Agent, Call, Error, ExecId, Feature, Operation, Result};

/// The most bytes of input in one request: agents bound the size of a body.
pub(crate) const MAX_STDIN_CHUNK_BYTES: usize = 1024 * 1024;

/// What a command reads from its standard input.
#[derive(Clone)]
pub enum Input {
    /// All of it, and then end-of-file.
    WithEof(String),
    /// No end comes after it: the command knows where to stop.
    Open(String),
}

/// Says whether input can have an end, before anything is run.
pub(super) async fn check_end(agent: &Agent) -> Result<()> {
    let feature = Feature::StdinEof;
    if agent.offers(feature).await.map_err(Error::of_refused_create)? {
        return Ok(());
    }
    Err(Error::Unsupported { feature: feature.name(), what: "`options.input`" }.into())
}

/// Sends all of it, and the end if it has one. A command that does not read it to the end may do so.
pub(super) async fn feed(agent: &Agent, id: &ExecId, input: &Input) -> Result<()> {
    match input {
        Input::Open(text) => write_all(agent, id, text).await,
        Input::WithEof(text) => write(agent, id, &mut bodies(text).chain([end()])).await,
    }
}

/// Sends what comes next of a running command's input, or its end where there is nothing more. Gives whether the command
/// reads on.
pub fn feed_stdin(agent: &Agent, id: ExecId, next: Option<String>) -> Call<bool> {
    let agent = agent.clone();
    Box::pin(async move {
        let sent = match next {
            Some(text) => send(&agent, &id, &mut bodies(&text)).await,
            None => send(&agent, &id, &mut [end()].into_iter()).await,
        };
        match sent {
            Err(error) if takes_no_more(&error) => {
                let exec = get(&agent, &id).await?;
                // One that is still to be started would read it.
                if exec.status == ExecStatus::Created { Err(error) } else { Ok(false) }
            }
            sent => sent.map(|()| true),
        }
    })
}

/// Sends all of it, to a process that takes more after it.
pub(crate) fn write_all<'a>(
    agent: &'a Agent,
    id: &'a ExecId,
    input: &'a str,
) -> LocalBoxFuture<'a, Result<()>> {
    Box::pin(async { write(agent, id, &mut bodies(input)).await })
}

/// Sends what the process takes of it: it need not read all.
async fn write(
    agent: &Agent,
    id: &ExecId,
    bodies: &mut dyn Iterator<Item = ExecStdin>,
) -> Result<()> {
    match send(agent, id, bodies).await {
        Err(error) if takes_no_more(&error) => Ok(()),
        sent => sent,
    }
}

fn end() -> ExecStdin {
    ExecStdin { kind: StdinType::Eof, input: String::new() }
}

fn bodies(input: &str) -> impl Iterator<Item = ExecStdin> {
    stdin_chunks(input).map(|text| ExecStdin { kind: StdinType::Stdin, input: text.into() })
}

async fn send(
    agent: &Agent,
    id: &ExecId,
    bodies: &mut dyn Iterator<Item = ExecStdin>,
) -> Result<()> {
    for body in bodies {
        // What may have arrived is not repeated: the process could read it twice.
        let may_repeat = |error: &Error| !error.is_ambiguous();
        let attempt = async || send_stdin(agent, id, &body).await;
        agent.http.repeat(Operation::SendStdin, may_repeat, attempt).await?;
    }
    Ok(())
}

/// Whether this is the answer of a process that has ended, or has closed its standard input.
fn takes_no_more(error: &Error) -> bool {
    error.status_of_agent() == Some(400)
}

/// The text in chunks of whole characters.
pub(crate) fn stdin_chunks(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(MAX_STDIN_CHUNK_BYTES);
        let (chunk, after) = rest.split_at_checked(end)?;
        rest = after;
        (!chunk.is_empty()).then_some(chunk)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_characters_and_all_there_is() {
        for text in [
            String::new(),
            "a".into(),
            "€".repeat(MAX_STDIN_CHUNK_BYTES),
            "x".repeat(2 * MAX_STDIN_CHUNK_BYTES),
        ] {
            let chunks: Vec<&str> = stdin_chunks(&text).collect();
            assert_eq!(chunks.concat(), text);
            assert!(chunks.iter().all(|chunk| (1..=MAX_STDIN_CHUNK_BYTES).contains(&chunk.len())));
        }
    }
}
