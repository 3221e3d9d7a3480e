//! Unix sockets that have a file: which ones there are, as the kernel lists them.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// Flag of a socket that takes connections (`__SO_ACCEPTCON` of `linux/net.h`).
const TAKES_CONNECTIONS: u32 = 0x1_0000;
/// Type of a socket that takes messages from everybody (`SOCK_DGRAM`).
const DATAGRAM: u8 = 2;
/// State of a socket that takes connections, of one that is not connected, and of one of datagrams that somebody has connected to
/// (`TCP_LISTEN`, `TCP_CLOSE` and `TCP_ESTABLISHED` of `net/tcp_states.h`).
const LISTENS: u8 = 10;
const UNCONNECTED: u8 = 7;
const CONNECTED: u8 = 1;

/// Types of messages, flags of a request for all (`linux/netlink.h`), and the type of this one (`SOCK_DIAG_BY_FAMILY`).
const ERROR: u16 = 2;
const DONE: u16 = 3;
const REQUEST_ALL: u16 = 0x301;
const BY_FAMILY: u16 = 20;
/// Family of Unix sockets.
const UNIX: u8 = 1;
/// Attributes: what a socket was bound to, and its file (`linux/unix_diag.h`). As bits they ask for them.
const NAME: u16 = 0;
const FILE: u16 = 1;
/// Length of a header of a message, of what comes before the attributes, and of a header of one of these.
const HEADER: usize = 16;
const FIXED: usize = 16;
const ATTRIBUTE: usize = 4;

/// Socket that has a file, by which programs connect or send to it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundSocket {
    /// Number of the socket, as in `socket:[NUMBER]`.
    pub number: u64,
    /// Path that it was bound to: relative to the working directory of the process that did so, and its file may have another name since.
    pub name: PathBuf,
    /// Lower half of the number of its file, where the kernel tells it.
    pub file: Option<u32>,
}

impl BoundSocket {
    /// Returns whether its file may have this number.
    #[must_use]
    pub fn is(&self, number: u64) -> bool {
        self.file.is_none_or(|file| u64::from(file) == number & u64::from(u32::MAX))
    }
}

/// Makes the request for all Unix sockets that can be connected or sent to (`sock_diag(7)`).
#[must_use]
pub fn request_sockets() -> Vec<u8> {
    let states = 1_u32 << LISTENS | 1 << UNCONNECTED | 1 << CONNECTED;
    let show = 1_u32 << NAME | 1 << FILE;
    let request = [&[UNIX, 0, 0, 0][..], &words(&[states, 0, show, 0, 0])].concat();
    let length = u32::try_from(HEADER + request.len()).unwrap_or_default();
    let types = [BY_FAMILY, REQUEST_ALL].map(u16::to_ne_bytes).concat();
    [words(&[length]), types, words(&[1, 0]), request].concat()
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// Reads what the kernel has answered to [`request_sockets`]: the sockets, and whether these were the last ones. None where it refuses.
#[must_use]
pub fn answered_sockets(mut answer: &[u8]) -> Option<(Vec<BoundSocket>, bool)> {
    let mut sockets = Vec::new();
    while let Some(length) = u32_at(answer, 0) {
        let length = usize::try_from(length).ok().filter(|length| *length >= HEADER)?;
        match u16_at(answer, 4)? {
            ERROR => return None,
            DONE => return Some((sockets, true)),
            _ => sockets.extend(answer.get(HEADER..length).and_then(answered)),
        }
        answer = answer.get(aligned(length)..).unwrap_or_default();
    }
    Some((sockets, false))
}

fn answered(message: &[u8]) -> Option<BoundSocket> {
    let (kind, state) = (*message.get(1)?, *message.get(2)?);
    if state != LISTENS && kind != DATAGRAM {
        return None;
    }
    let number = u32_at(message, 4)?.into();
    let (mut name, mut file) = (None, None);
    let mut attributes = message.get(FIXED..)?;
    while let Some(length) = u16_at(attributes, 0).map(usize::from) {
        let value = attributes.get(ATTRIBUTE..length)?;
        match u16_at(attributes, 2)? {
            // It ends with a zero. An abstract name, which begins with one, has no file.
            NAME => name = value.split(|byte| *byte == 0).next().map(OsStr::from_bytes),
            FILE => file = u32_at(value, 0),
            _ => {}
        }
        attributes = attributes.get(aligned(length)..).unwrap_or_default();
    }
    Some(BoundSocket { number, name: Path::new(name?).to_owned(), file: Some(file?) })
}

/// Attributes and messages begin at multiples of four.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Lists the sockets of `/proc/net/unix` (proc(5)), for where the kernel can't be asked: number, references, protocol, flags, type, state,
/// inode, path.
#[must_use]
pub fn listed_sockets(table: &[u8]) -> BTreeSet<BoundSocket> {
    table.split(|byte| *byte == b'\n').skip(1).filter_map(listed).collect()
}

fn listed(line: &[u8]) -> Option<BoundSocket> {
    let mut rest = line;
    let mut skip = |count: usize| {
        let mut field = None;
        for _ in 0..=count {
            let begin = rest.iter().position(|byte| *byte != b' ')?;
            let found = rest.get(begin..)?.split(|byte| *byte == b' ').next()?;
            rest = rest.get(begin + found.len()..)?;
            field = std::str::from_utf8(found).ok();
        }
        field
    };
    let flags = u32::from_str_radix(skip(3)?, 16);
    let kind = u8::from_str_radix(skip(0)?, 16);
    let number = skip(1)?.parse().ok()?;
    let name =
        rest.strip_prefix(b" ").filter(|name| !name.is_empty() && !name.starts_with(b"@"))?;
    let is_reached = flags.ok()? & TAKES_CONNECTIONS != 0 || kind.ok()? == DATAGRAM;
    let name = Path::new(OsStr::from_bytes(name)).to_owned();
    is_reached.then_some(BoundSocket { number, name, file: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_can_be_connected_or_sent_to() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            00000000c80f1490: 00000002 00000000 00010000 0001 01 1154609 /home/u/a b.sock\n\
            0000000060b02a0c: 00000003 00000000 00000000 0001 03 1154681 /home/u/connected\n\
            0000000060b02a0d: 00000003 00000000 00000000 0001 03 1154682\n\
            00000000eced9881: 00000003 00000000 00000000 0002 01 1154679 log\n\
            00000000eced9882: 00000003 00000000 00010000 0005 01 1154680 @/abstract\n\
            00000000eced9883: 00000003 00000000 00010000 0005 01   54681 /run/udev/control\n";
        let expected =
            [(1_154_609, "/home/u/a b.sock"), (1_154_679, "log"), (54_681, "/run/udev/control")];
        let expected =
            expected.map(|(number, name)| BoundSocket { number, name: name.into(), file: None });
        assert_eq!(listed_sockets(table), expected.into());
        assert_eq!(listed_sockets(b""), [].into());
    }

    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = u16::try_from(ATTRIBUTE + value.len()).unwrap();
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(aligned(bytes.len()), 0);
        bytes
    }

    fn message(kind: u16, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(HEADER + body.len()).unwrap();
        let types = [kind, 2].map(u16::to_ne_bytes).concat();
        [&words(&[length]), &types, &words(&[1, 0]), body].concat()
    }

    fn socket(kind: u8, state: u8, number: u32, name: &[u8], file: Option<u32>) -> Vec<u8> {
        let mut body = [&[UNIX, kind, state, 0][..], &words(&[number, 0, 0])].concat();
        body.extend(attribute(NAME, name));
        body.extend(file.iter().flat_map(|file| attribute(FILE, &words(&[*file, 1]))));
        message(BY_FAMILY, &body)
    }

    #[test]
    fn reads_the_sockets_that_have_a_file() {
        let answer = [
            socket(1, LISTENS, 1, b"/home/u/a b.sock\0", Some(7)),
            socket(DATAGRAM, UNCONNECTED, 2, b"log\0", Some(8)),
            socket(1, UNCONNECTED, 3, b"/bound\0", Some(9)),
            socket(1, LISTENS, 4, b"\0abstract", None),
        ]
        .concat();
        let expected = [(1, "/home/u/a b.sock", 7), (2, "log", 8)].map(|(number, name, file)| {
            BoundSocket { number, name: name.into(), file: Some(file) }
        });
        assert_eq!(answered_sockets(&answer), Some((expected.to_vec(), false)));
        let end = message(DONE, &[0; 4]);
        assert_eq!(answered_sockets(&end), Some((Vec::new(), true)));
        let all = [answer.clone(), end].concat();
        assert_eq!(answered_sockets(&all), Some((expected.to_vec(), true)));
        assert_eq!(answered_sockets(&message(ERROR, &[0; 4])), None);
        // What is cut short, or makes no sense, ends.
        for end in 0..answer.len() {
            let _read = answered_sockets(&answer[..end]);
        }
        assert_eq!(answered_sockets(&[0; 64]), None);
    }
}
