//! How the agent says what an exec has written: in Server-Sent Events, JSON, or binary frames.

use sandpipe_client::host::HttpRequest;
use sandpipe_protocol::frame::{self, Frame, Payload};
use sandpipe_protocol::sse::{encode_comment, encode_event};
use sandpipe_protocol::{ExecItem, ExecStdout, Gap};
use serde::Serialize;

use super::SimAgent;
use super::exec::State;

/// The time of every event, and its text.
const TIME: u64 = 1_769_862_896_789_012;
pub(super) const TIMESTAMP: &str = "2026-01-31T12:34:56.789Z";

/// The form of an output.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum OutputForm {
    EventStream,
    Frames,
}

impl SimAgent {
    /// Whether a request for an output is answered in frames.
    pub(super) fn answers_in_frames(&self, request: &HttpRequest) -> bool {
        let number = self.outputs.get();
        self.outputs.set(number + 1);
        let is_older =
            self.setup.is_older_now_and_then && self.setup.seed.rotate_right(number) & 1 == 1;
        let accepts = request.accept.split(", ").any(|name| name == frame::MEDIA_TYPE);
        accepts && self.setup.offers("frames") && !is_older
    }
}

impl OutputForm {
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::EventStream => "text/event-stream",
            Self::Frames => frame::MEDIA_TYPE,
        }
    }

    /// What comes first.
    pub(super) fn start(self, exec: Option<&ExecItem>) -> Vec<u8> {
        match (self, exec) {
            (Self::EventStream, None) => comment("sandpipe"),
            (Self::EventStream, Some(exec)) => event("exec", exec),
            (Self::Frames, None) => frame(0, Payload::Ping),
            (Self::Frames, Some(exec)) => {
                frame(0, Payload::Exec(&serde_json::to_vec(exec).expect("plain data")))
            }
        }
    }

    /// A comment, or an event without data, as other agents send it; an event with a name, or a
    /// frame of a type, that nobody knows yet.
    pub(super) fn sign_of_life(self, last: u64) -> Vec<u8> {
        match (self, last % 3) {
            (Self::EventStream, 0) => comment("ping"),
            (Self::EventStream, 1) => b"event: gap\ndata:\n\n".to_vec(),
            (Self::EventStream, _) => b"event: load\ndata: {\"cpu\":0.5}\n\n".to_vec(),
            (Self::Frames, 0) => frame(0, Payload::Ping),
            (Self::Frames, _) => frame(last, Payload::Unknown),
        }
    }

    pub(super) fn gap(self, gap: &Gap) -> Vec<u8> {
        match self {
            Self::EventStream => event("gap", gap),
            Self::Frames => frame(0, Payload::Gap(*gap)),
        }
    }

    /// The events after `last` that are there.
    pub(super) fn events_after(self, state: &State, last: u64) -> Vec<u8> {
        let events = state.events_after(last);
        match self {
            Self::EventStream => events.iter().flat_map(|output| event("", output)).collect(),
            Self::Frames => events.iter().flat_map(|output| frames(state, output)).collect(),
        }
    }

    /// What can't be understood.
    pub(super) fn nonsense(self) -> &'static [u8] {
        match self {
            Self::EventStream => b"data: nonsense\n\n",
            Self::Frames => &[0xFF; frame::HEADER_LEN],
        }
    }
}

/// One event with this data.
pub(super) fn event(name: &str, data: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_event(&mut bytes, name, &serde_json::to_string(data).expect("plain data"));
    bytes
}

pub(super) fn comment(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_comment(&mut bytes, text);
    bytes
}

/// The frames of an event.
fn frames(state: &State, event: &ExecStdout) -> Vec<u8> {
    let index = usize::try_from(event.sequence - 1).expect("small");
    let (piece, kind) = (&state.pieces[index], event.kind);
    let payload = match event.exit_code {
        Some(exit_code) => Payload::Exit(exit_code),
        None => Payload::Output(kind, &piece.bytes),
    };
    let own = frame(event.sequence, payload);
    if piece.unfinished.is_empty() {
        return own;
    }
    [frame(event.sequence, Payload::Unfinished(kind, &piece.unfinished)), own].concat()
}

pub(super) fn frame(sequence: u64, payload: Payload<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    Frame { sequence, time: TIME, payload }.write(&mut bytes);
    bytes
}
