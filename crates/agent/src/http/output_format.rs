use axum::{
    body::Bytes,
    http::{HeaderMap, header::ACCEPT},
};
use sandpipe_protocol::{
    ExecItem, Gap,
    frame::{self, Frame, Payload},
    sse::{encode_comment, encode_event},
};

use super::App;
use crate::{features::Feature, output};

const EVENT_STREAM: &str = "text/event-stream";

/// The forms that a stream of output has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputFormat {
    /// Server-Sent Events with JSON.
    Events,
    /// Binary frames.
    Frames,
}

impl OutputFormat {
    /// The best one that a request asks for by name, if any (RFC 9110, 12.5.1). That anything will do is not enough.
    pub(super) fn asked_for(app: &App, headers: &HeaderMap) -> Option<Self> {
        if app.features.has(Feature::Frames) && accepts(headers, frame::MEDIA_TYPE) {
            return Some(Self::Frames);
        }
        accepts(headers, EVENT_STREAM).then_some(Self::Events)
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Events => EVENT_STREAM,
            Self::Frames => frame::MEDIA_TYPE,
        }
    }

    /// What goes out at once, so that the headers do.
    pub(super) fn beginning(self) -> Bytes {
        match self {
            Self::Events => comment("sandpipe"),
            Self::Frames => self.ping(),
        }
    }

    /// What says that the stream is alive.
    pub(super) fn ping(self) -> Bytes {
        match self {
            Self::Events => comment("ping"),
            Self::Frames => frame(Payload::Ping),
        }
    }

    /// Events that are not there any more.
    pub(super) fn gap(self, gap: Gap) -> serde_json::Result<Bytes> {
        Ok(match self {
            Self::Events => event("gap", &serde_json::to_string(&gap)?),
            Self::Frames => frame(Payload::Gap(gap)),
        })
    }

    /// The exec whose output follows.
    pub(super) fn exec(self, exec: &ExecItem) -> serde_json::Result<Bytes> {
        let json = serde_json::to_string(exec)?;
        Ok(match self {
            Self::Events => event("exec", &json),
            Self::Frames => frame(Payload::Exec(json.as_bytes())),
        })
    }
}

fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let media_type = range.split(';').next().unwrap_or_default();
        media_type.trim().eq_ignore_ascii_case(wanted)
    })
}

fn comment(text: &str) -> Bytes {
    let mut bytes = Vec::new();
    encode_comment(&mut bytes, text);
    bytes.into()
}

fn event(name: &str, data: &str) -> Bytes {
    let mut bytes = Vec::new();
    encode_event(&mut bytes, name, data);
    bytes.into()
}

/// A frame that is no event of the output.
fn frame(payload: Payload<'_>) -> Bytes {
    let mut bytes = Vec::new();
    Frame { sequence: 0, time: output::now().0, payload }.write(&mut bytes);
    bytes.into()
}
