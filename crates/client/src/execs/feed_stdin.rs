//! Feeding a command's standard input up to its end.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::{ExecItem, ExecStatus, ExecStdin, StdinType};

use super::get;
use super::input::{Input, InputSource, StdinEncoding, next_piece, not_text};
use super::send_stdin::{send_bytes, send_stdin};
use crate::{Agent, Call, Error, ExecId, Feature, Operation, Result};

/// The most bytes of input in one request: agents bound the size of a body.
pub const MAX_STDIN_CHUNK_BYTES: usize = 1024 * 1024;

/// Says whether input can have an end, before anything is run.
async fn check_end(agent: &Agent) -> Result<()> {
    let feature = Feature::StdinEof;
    if agent.offers(feature).await.map_err(Error::of_refused_create)? {
        return Ok(());
    }
    Err(Error::Unsupported { feature: feature.name(), what: "`options.input`" }.into())
}

/// Input for a command, in the form in which its agent takes it.
pub(super) enum PreparedInput {
    WithEof(Box<dyn InputSource>, StdinEncoding),
    Open(String),
}

impl PreparedInput {
    /// Says whether the agent can take it, before anything is run.
    pub(super) async fn new(agent: &Agent, input: Input) -> Result<Self> {
        match input {
            Input::Open(text) => Ok(Self::Open(text)),
            Input::WithEof(source) => {
                check_end(agent).await?;
                let encoding = StdinEncoding::of(agent, &*source).await;
                Ok(Self::WithEof(source, encoding.map_err(Error::of_refused_create)?))
            }
        }
    }
}

/// Sends all of it, and the end if it has one. A command that does not read it to the end may do so.
pub(super) async fn feed(agent: &Agent, id: &ExecId, input: PreparedInput) -> Result<()> {
    match input {
        PreparedInput::Open(text) => write_all(agent, id, &text).await,
        PreparedInput::WithEof(source, encoding) => {
            unless_it_takes_no_more(feed_source(agent, id, source, encoding).await)
        }
    }
}

/// Sends a running command all that a source gives, and its end; no more of it where the command reads no more.
pub fn feed_stdin(agent: &Agent, id: ExecId, source: Box<dyn InputSource>) -> Call<()> {
    let agent = agent.clone();
    Box::pin(async move {
        let encoding = StdinEncoding::of(&agent, &*source).await?;
        match feed_source(&agent, &id, source, encoding).await {
            Err(error) if takes_no_more(&error) => {
                let exec = get(&agent, &id).await?;
                // One that is still to be started would read it.
                if exec.status == ExecStatus::Created { Err(error) } else { Ok(()) }
            }
            fed => fed,
        }
    })
}

/// Sends what a source gives without end-of-file, no piece of it twice. Gives the exec.
pub fn send_input(agent: &Agent, id: ExecId, mut source: Box<dyn InputSource>) -> Call<ExecItem> {
    let agent = agent.clone();
    Box::pin(async move {
        let mut encoding = StdinEncoding::of(&agent, &*source).await?;
        let mut exec = None;
        while let Some(piece) = next_piece(&mut *source).await? {
            exec = Some(Piece::of(&mut encoding, piece)?.send(&agent, &id).await?);
        }
        encoding.end()?;
        match exec {
            Some(exec) => Ok(exec),
            None => Piece::Text(String::new()).send(&agent, &id).await,
        }
    })
}

async fn feed_source(
    agent: &Agent,
    id: &ExecId,
    mut source: Box<dyn InputSource>,
    mut encoding: StdinEncoding,
) -> Result<()> {
    while let Some(piece) = next_piece(&mut *source).await? {
        send(agent, id, &Piece::of(&mut encoding, piece)?).await?;
    }
    encoding.end()?;
    send(agent, id, &Piece::End).await
}

/// A piece of input, as the agent takes it.
enum Piece {
    Bytes(Rc<[u8]>),
    Text(String),
    /// End-of-file.
    End,
}

impl Piece {
    fn of(encoding: &mut StdinEncoding, bytes: Vec<u8>) -> Result<Self> {
        match encoding {
            StdinEncoding::Bytes => Ok(Self::Bytes(bytes.into())),
            StdinEncoding::Text(pieces) => {
                pieces.decode(bytes).map(Self::Text).ok_or_else(not_text)
            }
        }
    }

    fn send(&self, agent: &Agent, id: &ExecId) -> Call<ExecItem> {
        match self {
            Self::Bytes(bytes) => send_bytes(agent, id, bytes.clone()),
            Self::Text(text) => {
                send_stdin(agent, id, &ExecStdin { kind: StdinType::Stdin, input: text.clone() })
            }
            Self::End => {
                send_stdin(agent, id, &ExecStdin { kind: StdinType::Eof, input: String::new() })
            }
        }
    }
}

/// Sends all of it, to a process that takes more after it.
pub(crate) fn write_all<'a>(
    agent: &'a Agent,
    id: &'a ExecId,
    input: &'a str,
) -> LocalBoxFuture<'a, Result<()>> {
    Box::pin(async {
        for text in stdin_chunks(input) {
            unless_it_takes_no_more(send(agent, id, &Piece::Text(text.to_owned())).await)?;
        }
        Ok(())
    })
}

/// Sends a piece. What may have arrived is not repeated: the process could read it twice.
fn send<'a>(agent: &'a Agent, id: &'a ExecId, piece: &'a Piece) -> LocalBoxFuture<'a, Result<()>> {
    Box::pin(async {
        let may_repeat = |error: &Error| !error.is_ambiguous();
        let attempt = async || piece.send(agent, id).await;
        agent.http.repeat(Operation::SendStdin, may_repeat, attempt).await.map(drop)
    })
}

/// A process need not read all.
fn unless_it_takes_no_more(sent: Result<()>) -> Result<()> {
    sent.or_else(|error| if takes_no_more(&error) { Ok(()) } else { Err(error) })
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
