//! What an agent answers about files, changes in them, and ports.

use sandpipe_client::fuzz::{
    read_base64, read_change, read_content_range, read_list, read_ports, url_of_raw,
};
use serde::de::DeserializeOwned;

use crate::{Target, memory::Bound};

pub(super) const TARGET: Target = Target {
    name: "file-answers",
    check,
    seeds: &[
        br#"{"path":"/w","files":[{"name":"a","path":"/w/a","isDir":false,"size":1,"modTime":"2026-01-01T00:00:00Z","type":"file","mode":420,"raw":"/w/%FF"}]}"#,
        br#"{"paths":["/w/a","/w/b"],"type":"RENAME","timestamp":"2026-01-01T00:00:00Z","raw":["/w/%FF","/w/b"]}"#,
        br#"{"paths":[],"type":"error","timestamp":"","message":"gone"}"#,
        br#"{"ports":[{"port":5173,"address":"::1","pid":7,"command":"node","exec":"x"}]}"#,
        b"/w/%FF/a%20b/../c",
        b"Zm9vYg==",
        b"bytes 2-9/10",
    ],
    words: &[
        b"{", b"}", b"[", b"]", b",", b"\"", b"\"files\":", b"\"ports\":", b"\"paths\":", b"\"raw\":", b"\"type\":", b"\"ADD\"", b"\"OVERFLOW\"",
        b"\"connected\"", b"\"size\":", b"null", b"65535", b"%2F", b"%00", b"%", b"/", b"..", b"=", b"+/", b"bytes ", b"/*", b"\xFF",
    ],
};

/// Each name of a list is there some times over.
const BOUND: Bound = Bound::new(8192, 256);

fn check(input: &[u8]) {
    same(input, read_list);
    same(input, read_ports);
    same(input, read_change);

    let text = String::from_utf8_lossy(input);
    if let Some(url) = BOUND.hold(input, || url_of_raw(&text)) {
        let path = url.strip_prefix('/').unwrap();
        assert!(
            path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#\\".contains(&byte)),
            "{url}"
        );
        // What a URL has dropped.
        assert!(!path.split('/').any(|part| matches!(part, "." | "..")), "{url}");
        assert!(!path.contains("//"), "{url}");
        assert_eq!(url_of_raw(path).as_deref(), Some(&*url));
    }

    if let Some(bytes) = BOUND.hold(input, || read_base64(&text)) {
        assert_eq!(bytes.len(), text.trim_end_matches('=').len() * 3 / 4);
        assert_eq!(read_base64(&base64(&bytes)), Some(bytes));
    }

    if let Some((first, last, _)) = read_content_range(&text) {
        assert!(first <= last && last < u64::MAX);
    }
}

/// Asserts that what is read is what serde reads.
fn same<T: DeserializeOwned + PartialEq + std::fmt::Debug>(
    input: &[u8],
    read: fn(&[u8]) -> Option<T>,
) {
    let read = BOUND.hold(input, || read(input));
    if let (Some(read), Ok(expected)) = (read, serde_json::from_slice::<T>(input)) {
        assert_eq!(read, expected);
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let mut padded = [0; 4];
        padded[1..=three.len()].copy_from_slice(three);
        let bits = u32::from_be_bytes(padded);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) as usize & 63;
            text.push(if digit <= three.len() { char::from(DIGITS[value]) } else { '=' });
        }
    }
    text
}
