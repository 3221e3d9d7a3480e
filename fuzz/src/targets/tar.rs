//! Tar streams that a client has unpacked.
//!
//! Bytes by chance are refused by the first checksum. So an input says what each block has, and the sum is made here.

use std::iter::once;

use sandpipe_agent::fuzz::read_tar;

use crate::{
    Target,
    bytes::{cut, decision},
    memory::Bound,
};

pub(super) const TARGET: Target = Target {
    name: "tar",
    check,
    // A byte that says how the stream is cut and whether it has an end, and parts, each behind a `#`: the fields of a header behind
    // `|` (type, name, size, link, mode, time, numbers of a device), or what is in blocks.
    seeds: &[
        b"\x01#|0|a/file|5||644|1700000000#hello",
        b"\x03#|5|a/||||#|2|link||../x||#|1|hard||a/file||#|6|fifo||||#|3|dev|||||7 11",
        b"\x05#|x|pax|41|||#22 mtime=-1.250000000\n11 path=xy\n#|0|short|1|||#z",
        b"\x07#|L|long|10|||#long/name\0#|K|link|7|||#target\0#|2|x||y||",
        b"\x08#|g|global|3|||#abc#|0|x/||||#|7|contiguous|600|||#many",
    ],
    words: &[
        b"#",
        b"|",
        b"#|0|",
        b"#|x|",
        b"#|L|",
        b"#|K|",
        b"#|g|",
        b"#|S|",
        b"#|5|",
        b"|777|",
        b"|77777777777|",
        b"|-1|",
        b"||",
        b"/",
        b"..",
        b"\0",
        b"12 path=abc\n",
        b"11 size=12\n",
        b"13 mtime=1.5\n",
        b"15 linkpath=ab\n",
        b"15 mtime=-2.25\n",
        b"22 GNU.sparse.major=1\n",
        b" ",
        b"=",
        b"\n",
        b"\xFF",
        b"\x80\0\0\0\0\0\0\0\0\0\0\x01",
        b"\x80\0\0\0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        b"9223372036854775807",
        b"-9223372036854775808.5",
    ],
};

const BLOCK: usize = 512;

/// A part of the input may be a byte that becomes a block; what comes before an entry takes up to 1 MiB, the writer 128 KiB.
const BOUND: Bound = Bound::new(2 << 20, 4096);

fn check(input: &[u8]) {
    let (at, parts) = decision(input);
    let stream = stream(parts, at & 1 == 1);
    let (written, wrong) = BOUND.hold(input, || read_tar(cut(at, &stream)).unwrap());
    assert_eq!(read_tar(once(&*stream)).unwrap(), (written.clone(), wrong));
    assert_eq!(read_tar(once(&*written)).unwrap(), (written.clone(), None));
}

fn stream(parts: &[u8], has_end: bool) -> Vec<u8> {
    let mut stream = Vec::new();
    for part in parts.split(|byte| *byte == b'#').skip(1) {
        match part.strip_prefix(b"|") {
            Some(fields) => stream.extend(header(fields)),
            None => stream.extend(part),
        }
        stream.resize(stream.len().next_multiple_of(BLOCK), 0);
    }
    if has_end {
        stream.resize(stream.len() + 2 * BLOCK, 0);
    }
    stream
}

/// A header (POSIX, ustar) with these fields as they are, and the sum of all.
fn header(fields: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    let mut put = |start: usize, end: usize, bytes: &[u8]| {
        for (place, byte) in block[start..end].iter_mut().zip(bytes) {
            *place = *byte;
        }
    };
    let mut fields = fields.split(|byte| *byte == b'|');
    put(257, 265, b"ustar\x0000");
    for (start, end) in
        [(156, 157), (0, 100), (124, 136), (157, 257), (100, 108), (136, 148), (329, 345)]
    {
        put(start, end, fields.next().unwrap_or_default());
    }
    put(148, 156, b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}
