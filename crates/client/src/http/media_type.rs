//! The forms of answers.

use sandpipe_protocol::frame;

use super::request::{BYTES, EVENT_STREAM, JSON, TAR};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MediaType {
    /// JSON.
    Json,
    /// Bytes as they are.
    Bytes,
    /// A tar stream.
    Tar,
    /// Server-Sent Events.
    EventStream,
    /// Binary frames of output: the extension `frames`.
    Frames,
}

impl MediaType {
    /// The one that a `Content-Type` names. Its parameters don't matter: all text is UTF-8.
    pub(crate) fn of(content_type: &str) -> Option<Self> {
        let name = content_type.split(';').next().unwrap_or_default().trim();
        let all = [Self::Json, Self::Bytes, Self::Tar, Self::EventStream, Self::Frames];
        all.into_iter().find(|known| name.eq_ignore_ascii_case(known.name()))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Json => JSON,
            Self::Bytes => BYTES,
            Self::Tar => TAR,
            Self::EventStream => EVENT_STREAM,
            Self::Frames => frame::MEDIA_TYPE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_media_type_is_known_whatever_its_case_and_parameters() {
        for content_type in
            ["text/event-stream", "Text/Event-Stream; charset=utf-8", "text/event-stream ;x"]
        {
            assert_eq!(MediaType::of(content_type), Some(MediaType::EventStream), "{content_type}");
        }
        for content_type in ["text/event-stream-2", "text/html", ""] {
            assert_eq!(MediaType::of(content_type), None, "{content_type}");
        }
    }
}
