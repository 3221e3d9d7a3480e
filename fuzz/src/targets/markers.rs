//! The markers in what a session's shell prints, wherever the text is cut.

use sandpipe_client::fuzz::find_markers;
use sandpipe_protocol::OutputType::{Stderr, Stdout};

use crate::{
    Target,
    bytes::{cut_text, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "markers",
    check,
    seeds: &[
        b"\x05\x40\x1e0123456789abcdef:b\x1ehello\x1e0123456789abcdef:x3\x1e\x1e0123456789abcdef:e0,0\x1eoops\x1e0123456789abcdef:e0,0\x1e",
        b"\x02\x80\x1e\x1e\x1e0123456789abcde\x1e0123456789abcdef:e1,130\x1e",
    ],
    words: &[
        b"\x1e", b"0123456789abcdef", b"\x1e0123456789abcdef:", b":b\x1e", b":x0\x1e", b":e0,0\x1e", b"x", b"e", b",", b"+1",
        b"0000000000000000000000000", b"\n", b"\xE2\x82\xAC", b"\x1e0123456789abcdef:b\x1e",
    ],
};

const NONCE: &str = "0123456789abcdef";

/// What is held back is copied with what follows it.
const BOUND: Bound = Bound::new(1024, 16);

fn check(input: &[u8]) {
    let (place, input) = decision(input);
    let (share, text) = decision(input);
    let text = String::from_utf8_lossy(text);
    let (stdout, stderr) =
        text.split_at(text.floor_char_boundary(text.len() * usize::from(share) / 255));
    let whole = find_markers(NONCE, &[(Stdout, stdout), (Stderr, stderr)]);
    let pieces: Vec<_> = cut_text(place, stdout)
        .map(|piece| (Stdout, piece))
        .chain(cut_text(place, stderr).map(|piece| (Stderr, piece)))
        .collect();
    let found = BOUND.hold(text.as_bytes(), || find_markers(NONCE, &pieces));
    assert_eq!(found, whole, "cut otherwise");
    for (output, text) in whole.outputs.iter().zip([stdout, stderr]) {
        assert!(output.len() <= text.len());
        if !text.contains(NONCE) {
            assert_eq!(output, text);
        }
    }
}
