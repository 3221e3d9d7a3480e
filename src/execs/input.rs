//! Feeding a whole text to a command's standard input.

use sandpipe_protocol::{ExecStdin, StdinType};

use super::send_stdin::send_stdin;
use crate::error::{Error, Result};
use crate::features::Feature;
use crate::operation::Operation;
use crate::request::ExecId;
use crate::transport::Transport;

/// The most bytes of input in one request: agents bound the size of a body.
const PIECE: usize = 1024 * 1024;

/// Says whether input can have an end, before anything is run.
pub(super) async fn check_input(transport: &Transport) -> Result<()> {
    let feature = Feature::StdinEof;
    if transport.offers(feature).await.map_err(|error| error.of(Operation::CreateExec))? {
        return Ok(());
    }
    Err(Error::Unsupported { feature: feature.name(), what: "`options.input`" })
}

/// Sends all of it and then the end. A command that does not read it to the end may do so.
pub(super) async fn feed(transport: &Transport, id: &ExecId, input: &str) -> Result<()> {
    let pieces = pieces(input).map(|text| ExecStdin { kind: StdinType::Stdin, input: text.into() });
    let end = ExecStdin { kind: StdinType::Eof, input: String::new() };
    for body in pieces.chain([end]) {
        match send_stdin(transport, id, &body).await {
            // Overdue: the agent has it and writes it when the process reads. Only the answer was not
            // waited for any longer, as Node's fetch does after 300 s.
            Ok(_) | Err(Error::Network { answer_overdue: true, .. }) => {}
            // It has ended, or closed its standard input.
            Err(Error::Http { status: 400, message: Some(_), .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The text in pieces of whole characters.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
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
