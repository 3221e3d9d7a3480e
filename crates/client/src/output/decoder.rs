//! What the bytes of one connection say, whichever form they come in.

use sandpipe_protocol::frame::{self, Frame, Payload};
use sandpipe_protocol::json_array::Elements;
use sandpipe_protocol::sse;

use super::OutputFault;
use crate::http::MediaType;

/// Takes the bytes of one connection, cut anywhere, apart. It holds one unfinished message at most.
pub(crate) enum Decoder {
    EventStream(sse::Decoder),
    Frames {
        decoder: frame::Decoder,
        /// A frame came last that nothing need follow.
        is_complete: bool,
    },
    Json(Elements),
}

/// What an agent says of an output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    /// An event, as JSON.
    Event(&'a [u8]),
    /// Events that are lost, as JSON.
    Gap(&'a [u8]),
    /// The exec that was created, as JSON.
    Exec(&'a [u8]),
    /// Any of these, or something else.
    Frame(Frame<'a>),
}

impl Decoder {
    /// One for an answer of this type.
    pub(crate) fn of(media_type: MediaType) -> Self {
        match media_type {
            MediaType::EventStream => Self::EventStream(sse::Decoder::default()),
            MediaType::Frames => {
                Self::Frames { decoder: frame::Decoder::default(), is_complete: false }
            }
            // Nobody asks for an output in bytes: it is in frames then.
            MediaType::Json | MediaType::Bytes | MediaType::Tar => Self::Json(Elements::default()),
        }
    }

    /// Takes the next bytes and hands over each message that they complete, in order.
    pub(crate) fn feed(
        &mut self,
        chunk: &[u8],
        dispatch: &mut dyn FnMut(Message<'_>),
    ) -> Result<(), OutputFault> {
        let fault = |problem: &dyn ToString, quoted: &[u8]| {
            OutputFault::protocol(&problem.to_string(), quoted)
        };
        match self {
            Self::EventStream(decoder) => decoder
                .feed(chunk, &mut |event| match &*event.name {
                    // Whose sender means a sign of life by it: it says nothing.
                    _ if event.data.is_empty() => {}
                    "" | "message" => dispatch(Message::Event(event.data)),
                    "gap" => dispatch(Message::Gap(event.data)),
                    "exec" => dispatch(Message::Exec(event.data)),
                    _ => {}
                })
                .map_err(|too_large| fault(&too_large, &[])),
            Self::Frames { decoder, is_complete } => decoder
                .feed(chunk, &mut |frame| {
                    *is_complete = matches!(frame.payload, Payload::Exit(_) | Payload::Ping);
                    dispatch(match frame.payload {
                        Payload::Exec(json) => Message::Exec(json),
                        _ => Message::Frame(frame),
                    });
                })
                .map_err(|error| fault(&error, &[])),
            Self::Json(elements) => elements
                .feed(chunk, &mut |element| dispatch(Message::Event(element)))
                .map_err(|error| fault(&error, chunk)),
        }
    }

    /// Whether what ended here is a whole snapshot: a JSON array says where it ends, and frames end with the exit code or a
    /// sign of life.
    pub(crate) fn is_complete(&self) -> bool {
        match self {
            Self::EventStream(_) => false,
            Self::Frames { is_complete, .. } => *is_complete,
            Self::Json(elements) => elements.is_complete(),
        }
    }
}
