//! The markers of a session's shell, for the fuzz targets.

use sandpipe_protocol::OutputType;

use super::markers::Markers;
use crate::Nonce;

/// What was found in a shell's output.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// What of stdout and stderr is the script's.
    pub outputs: [String; 2],
    /// Whether the script has begun.
    pub begun: bool,
    /// Whether it is over.
    pub over: bool,
    /// Its exit code.
    pub exit_code: Option<i32>,
}

/// Takes the markers with this nonce out of pieces of stdout and stderr.
pub fn find_markers(nonce: &str, pieces: &[(OutputType, &str)]) -> Found {
    let mut markers = Markers::new(&Nonce::of(nonce));
    let mut outputs = [String::new(), String::new()];
    let [stdout, stderr] = &mut outputs;
    for (kind, text) in pieces {
        let output = match kind {
            OutputType::Stdout => &mut *stdout,
            OutputType::Stderr => &mut *stderr,
        };
        output.push_str(&markers.feed(*kind, text));
    }
    stdout.push_str(&markers.finish_stream(OutputType::Stdout));
    stderr.push_str(&markers.finish_stream(OutputType::Stderr));
    let (begun, over) = (markers.begun(), markers.over());
    Found { outputs, begun, over, exit_code: markers.exit_code() }
}
