//! What a target answers about background processes, for the fuzz targets.

use super::BackgroundProcess;
use super::answer::{NoAnswer, ScriptAnswer};
use super::lines::choose_lines;
use super::read_output::read_window;
use crate::Nonce;

/// What an answer says to each of the questions that there are; None where it has no answer to it.
#[derive(Debug, PartialEq, Eq)]
pub struct Answered {
    /// The process that it tells of.
    pub process: Option<BackgroundProcess>,
    /// All processes.
    pub processes: Vec<BackgroundProcess>,
    /// The process that was started.
    pub started: Option<BackgroundProcess>,
    /// The output, and where the next one begins.
    pub window: Option<(String, u64)>,
    /// The lines of the output that have an `a`.
    pub lines: String,
}

/// Reads the answer with this nonce out of what a target printed.
pub fn read_answer(output: &str, nonce: &str) -> Result<Answered, String> {
    let answer = ScriptAnswer::find(output, &Nonce::of(nonce)).map_err(|reason| match reason {
        NoAnswer::Incomplete => "incomplete".to_owned(),
        NoAnswer::Missing => "missing".to_owned(),
        NoAnswer::Failed(message) | NoAnswer::Refused(_, message) => message,
    })?;
    let section = |name| answer.section(name).unwrap_or_default();
    let home = section("home").trim_end_matches('\n');
    let pieces: Vec<_> = answer.sections(&["stdout", "stderr"]).collect();
    let record = super::process::ProcessRecord::new("id".to_owned(), None, None, "true");
    Ok(Answered {
        process: BackgroundProcess::read(home, section("state"), section("meta")),
        processes: BackgroundProcess::read_all(home, section("states"), section("metas")),
        started: BackgroundProcess::started(home, section("head"), record, "true".to_owned()),
        window: read_window(&answer, None)
            .map(|window| (window.chunk.output, window.chunk.next_offset)),
        lines: choose_lines(&pieces, |line| line.contains('a')),
    })
}
