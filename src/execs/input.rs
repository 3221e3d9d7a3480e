//! Feeding a whole text to a command's standard input.

use sandpipe_protocol::{ExecStdin, StdinType};

use super::send_stdin::send_stdin;
use crate::features::Feature;
use crate::request::ExecId;
use crate::transport::Transport;
use sandpipe_client::error::{Error, Result};
use sandpipe_client::operation::Operation;

/// The most bytes of input in one request: agents bound the size of a body.
pub(crate) const PIECE: usize = 1024 * 1024;

/// What a command reads from its standard input.
pub(super) enum Input {
    /// All of it, and then end-of-file.
    ToItsEnd(String),
    /// No end comes after it: the command knows where to stop.
    Endless(String),
}

/// Says whether input can have an end, before anything is run.
pub(super) async fn check_end(transport: &Transport) -> Result<()> {
    let feature = Feature::StdinEof;
    if transport
        .offers(feature)
        .await
        .map_err(|error| error.with_operation(Operation::CreateExec))?
    {
        return Ok(());
    }
    Err(Error::Unsupported { feature: feature.name(), what: "`options.input`" }.into())
}

/// Sends all of it, and the end if it has one. A command that does not read it to the end may do so.
pub(super) async fn feed(transport: &Transport, id: &ExecId, input: &Input) -> Result<()> {
    match input {
        Input::Endless(text) => feed_on(transport, id, text).await,
        Input::ToItsEnd(text) => {
            let end = ExecStdin { kind: StdinType::Eof, input: String::new() };
            send(transport, id, &mut bodies(text).chain([end])).await
        }
    }
}

/// Sends all of it, to a process that takes more after it.
pub(crate) async fn feed_on(transport: &Transport, id: &ExecId, input: &str) -> Result<()> {
    send(transport, id, &mut bodies(input)).await
}

fn bodies(input: &str) -> impl Iterator<Item = ExecStdin> {
    pieces(input).map(|text| ExecStdin { kind: StdinType::Stdin, input: text.into() })
}

async fn send(
    transport: &Transport,
    id: &ExecId,
    bodies: &mut dyn Iterator<Item = ExecStdin>,
) -> Result<()> {
    for body in bodies {
        // What may have arrived is not repeated: the process could read it twice.
        let may_repeat = |error: &Error| !error.is_ambiguous();
        let attempt = async || send_stdin(transport, id, &body).await;
        match transport.repeat_while(Operation::SendStdin, may_repeat, attempt).await {
            Ok(_) => {}
            Err(error) => match *error {
                // It has ended, or closed its standard input.
                Error::Http { status: 400, message: Some(_), .. } => return Ok(()),
                _ => return Err(error),
            },
        }
    }
    Ok(())
}

/// The text in pieces of whole characters.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = rest.floor_char_boundary(PIECE);
        let (piece, after) = rest.split_at_checked(end)?;
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_characters_and_all_there_is() {
        for text in [String::new(), "a".into(), "€".repeat(PIECE), "x".repeat(2 * PIECE)] {
            let pieces: Vec<&str> = pieces(&text).collect();
            assert_eq!(pieces.concat(), text);
            assert!(pieces.iter().all(|piece| (1..=PIECE).contains(&piece.len())));
        }
    }
}
