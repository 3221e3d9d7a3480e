//! What a target answers about background processes, amid whatever else it prints.

use sandpipe_client::fuzz::read_answer;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "background",
    check,
    seeds: &[
        b"motd\n0123:home\n/tmp/x\n0123:state\na dead 0 2026-11-21T06:30:00Z\n0123:meta\n{\"pid\":7,\"startTime\":\"1@b\",\"startedAt\":\"t\",\n\"id\":\"a\",\"script\":\"true\"}\n0123:end\n",
        b"\n0123:home\n/h\n0123:states\na dead 137 -\nb alive - -\nc timed-out 124 t\n0123:metas\n{\"pid\":7,\"startedAt\":\"t\",\"id\":\"a\",\"excerpt\":\"x\"}\n{\"pid\":8,\"startedAt\":\"u\",\"id\":\"b\"}\n0123:end\n",
        b"\n0123:home\n/h\n0123:head\n{\"pid\":7,\"startedAt\":\"t\",\n0123:end\n",
        b"\n0123:state\na alive - -\n0123:window\n0 5 9\n0123:stdout\nab\r\na\n0123:stderr\nx\n0123:stdout\nca\n0123:end\n",
        b"\n0123:failed\nno room\n0123:end\n\n0123:missing\n\n0123:end\n",
    ],
    words: &[
        b"\n0123:", b"\n0123:end\n", b"home\n", b"state\n", b"states\n", b"meta\n", b"metas\n", b"head\n", b"window\n",
        b"stdout\n", b"stderr\n", b"failed\n", b"missing\n", b"\n", b"\r\n", b" ", b"-", b"alive", b"dead", b"timed-out",
        b"\"pid\":", b"\"id\":\"a\"", b"\"startedAt\":\"\"", b"{", b"}", b",", b"0 0 0",
    ],
};

const NONCE: &str = "0123";

/// The JSON of processes, and each of them with the paths of three files below a common directory.
const BOUND: Bound = Bound::new(4096, 128);

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let bound = if text.matches("\n0123:").count() > 1 { quadratic(&text) } else { BOUND };
    let answer = bound.hold(text.as_bytes(), || read_answer(&text, NONCE));
    if let Ok(answer) = answer {
        let noisy = format!("noise{text}noise\n0123:failed\n\n0123:end\n");
        assert_eq!(read_answer(&noisy, NONCE), Ok(answer));
    }
}

/// Each process carries the directory of all.
fn quadratic(text: &str) -> Bound {
    let processes = text.matches("pid").count() as u64 + 1;
    Bound::new(4096, 128 + 16 * processes)
}
