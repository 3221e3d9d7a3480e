//! Paths on the agent's machine, and the addresses that they are part of.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// A path on the agent's machine: absolute, or relative to the workspace. Any bytes but NUL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePath(Vec<u8>);

/// What RFC 3986 leaves as it is everywhere ("unreserved").
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

impl FilePath {
    /// The path that a text is; None where it has a NUL, which no path can hold.
    pub fn parse(text: &str) -> Option<Self> {
        Self::of_bytes(text.as_bytes())
    }

    /// The path that is given percent-encoded, as the `raw` of a [`FileInfo`](sandpipe_protocol::FileInfo); None for what
    /// is not.
    pub fn parse_raw(raw: &str) -> Option<Self> {
        let is_encoded = raw.split('%').skip(1).all(|part| {
            part.as_bytes()
                .first_chunk::<2>()
                .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
        });
        let bytes: Cow<'_, [u8]> = percent_decode_str(raw).into();
        if is_encoded { Self::of_bytes(&bytes) } else { None }
    }

    fn of_bytes(bytes: &[u8]) -> Option<Self> {
        (!bytes.contains(&0)).then(|| Self(bytes.to_vec()))
    }

    /// The path as text; None where it is none.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The path for messages: what is not UTF-8 is U+FFFD.
    pub(crate) fn display(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// The address of the path below another one, such as `/api/v1/files`.
    ///
    /// A URL drops segments that are `.` or `..` (WHATWG URL, "double-dot"), and servers and proxies those that are
    /// empty: where there is one the slashes are encoded, too, so that all of the path is one segment.
    pub(crate) fn url(&self, below: &str) -> String {
        let bytes = &self.0;
        let (root, rest) = match bytes.strip_prefix(b"/") {
            Some(rest) => ("%2F", rest),
            None => ("", &**bytes),
        };
        let segments: Vec<&[u8]> = rest.split(|byte| *byte == b'/').collect();
        let is_plain = !segments.iter().any(|segment| matches!(*segment, b"" | b"." | b".."));
        let slash = if is_plain { "/" } else { "%2F" };
        let encoded: Vec<String> =
            segments.iter().map(|segment| percent_encode(segment, SEGMENT).to_string()).collect();
        let path = match &**bytes {
            b"." => ".%2F".to_owned(),
            b".." => ".%2F..".to_owned(),
            _ => format!("{root}{}", encoded.join(slash)),
        };
        format!("{below}/{path}")
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    fn url(path: &str) -> String {
        FilePath::parse(path).unwrap().url("/f")
    }

    #[test]
    fn a_path_is_encoded_by_segments() {
        assert_eq!(url("a/b c?d#é%"), "/f/a/b%20c%3Fd%23%C3%A9%25");
        assert_eq!(url("/etc/hosts"), "/f/%2Fetc/hosts");
        assert_eq!(url("/"), "/f/%2F");
        assert_eq!(url(""), "/f/");
    }

    #[test]
    fn what_a_url_would_drop_is_one_segment() {
        assert_eq!(url("."), "/f/.%2F");
        assert_eq!(url(".."), "/f/.%2F..");
        assert_eq!(url("../a"), "/f/..%2Fa");
        assert_eq!(url("a//b/"), "/f/a%2F%2Fb%2F");
        assert_eq!(url("/a/./b"), "/f/%2Fa%2F.%2Fb");
    }

    #[test]
    fn a_raw_path_is_any_bytes_but_nul() {
        assert_eq!(FilePath::parse_raw("/a%FF/b").unwrap().url("/f"), "/f/%2Fa%FF/b");
        assert_eq!(FilePath::parse_raw("%C3%A9").unwrap().as_str(), Some("é"));
        assert_eq!(FilePath::parse_raw("%FF").unwrap().as_str(), None);
        for wrong in ["%", "%0", "%g0", "a%00", "a\0"] {
            assert_eq!(FilePath::parse_raw(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_path_comes_out_as_it_went_in_and_no_segment_is_a_dot(path in "[a./ %é]{0,9}") {
            let url = url(&path);
            let encoded = url.strip_prefix("/f/").unwrap();
            let decoded = percent_decode_str(encoded).decode_utf8().unwrap();
            // The same for the system.
            let expected = match path.as_str() { "." => "./", ".." => "./..", path => path };
            prop_assert_eq!(decoded, expected);
            let dots = encoded.split('/').filter(|segment| matches!(*segment, "." | ".."));
            prop_assert_eq!(dots.count(), 0);
        }
    }
}
