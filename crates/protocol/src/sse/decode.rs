use std::borrow::Cow;
use std::mem;

use memchr::memchr2;

/// The most bytes that one event may take by default: 64 MiB.
pub const MAX_EVENT_SIZE: usize = 64 * 1024 * 1024;

/// An event that was dispatched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event` field: the event's type. Empty where there was none, which stands for `message`.
    pub name: Cow<'a, str>,
    /// The `data` lines, joined with LF, as they came: [`Event::text`] decodes them.
    pub data: &'a [u8],
}

impl<'a> Event<'a> {
    /// The data as text: "Streams must be decoded using the UTF-8 decode algorithm", so what is no
    /// UTF-8 becomes U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.data)
    }
}

/// One event was larger than the decoder's limit. What follows it can't be told apart any more, so
/// the decoder decodes nothing further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one event of the stream is larger than {limit} bytes")]
pub struct EventTooLarge {
    /// The limit in bytes.
    pub limit: usize,
}

/// Turns the bytes of an event stream, cut anywhere, into events.
///
/// The rules are those of the HTML standard, section 9.2.6, "Interpreting an event stream". It holds
/// at most one unfinished event, and a hard limit bounds that.
///
/// ```
/// # use sandpipe_protocol::sse::Decoder;
/// let mut decoder = Decoder::default();
/// let mut data = Vec::new();
/// for chunk in [&b"data: hel"[..], b"lo\r", b"\n\r\n"] {
///     decoder.feed(chunk, &mut |event| data.push(event.text().into_owned()))?;
/// }
/// assert_eq!(data, ["hello"]);
/// # Ok::<(), sandpipe_protocol::sse::EventTooLarge>(())
/// ```
#[derive(Debug)]
pub struct Decoder {
    limit: usize,
    /// The unfinished line.
    line: Vec<u8>,
    /// The event whose blank line has not come yet.
    pending: Pending,
    at_start: bool,
    /// The last byte was a CR: an LF now belongs to it.
    after_cr: bool,
    too_large: bool,
    last_event_id: String,
    retry: Option<u64>,
}

#[derive(Debug, Default)]
struct Pending {
    name: Vec<u8>,
    /// Each `data` line followed by an LF: the standard's data buffer.
    data: Vec<u8>,
    id: Option<Vec<u8>>,
}

impl Pending {
    fn len(&self) -> usize {
        self.name.len() + self.data.len() + self.id.as_ref().map_or(0, Vec::len)
    }

    fn push_data(&mut self, line: &[u8]) {
        self.data.extend_from_slice(line);
        self.data.push(b'\n');
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT_SIZE)
    }
}

impl Decoder {
    /// A decoder that refuses an event of more than `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            pending: Pending::default(),
            at_start: true,
            after_cr: false,
            too_large: false,
            last_event_id: String::new(),
            retry: None,
        }
    }

    /// Takes the next bytes and hands over each event that they complete, in order.
    ///
    /// # Errors
    /// [`EventTooLarge`], after the events that came before it; every later call gives it again.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        dispatch: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), EventTooLarge> {
        let mut rest = chunk;
        // The first `data` line of the pending event, where it need not be copied: most events are one
        // line, and whole.
        let mut held = None;
        while !rest.is_empty() {
            if self.too_large {
                break;
            }
            if mem::take(&mut self.after_cr)
                && let Some(after) = rest.strip_prefix(b"\n")
            {
                rest = after;
                continue;
            }
            let end = memchr2(b'\r', b'\n', rest);
            let (text, ended) =
                rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, &[]));
            // With the LF that it is kept with, so that the limit is the same wherever the text is cut.
            let held_size = held.map_or(0, |line: &[u8]| line.len() + 1);
            if self.pending.len() + held_size + self.line.len() + text.len() > self.limit {
                self.too_large = true;
                break;
            }
            let Some((terminator, after)) = ended.split_first() else {
                self.line.extend_from_slice(text);
                break;
            };
            self.after_cr = *terminator == b'\r';
            rest = after;
            if self.line.is_empty() {
                match self.end_line(text) {
                    Line::Data(value) if held.is_none() && self.pending.data.is_empty() => {
                        held = Some(value);
                    }
                    Line::Data(value) => {
                        self.keep(held.take());
                        self.pending.push_data(value);
                    }
                    Line::Blank => self.dispatch(held.take(), dispatch),
                    Line::Done => {}
                }
            } else {
                let mut line = mem::take(&mut self.line);
                line.extend_from_slice(text);
                match self.end_line(&line) {
                    Line::Data(value) => {
                        self.keep(held.take());
                        self.pending.push_data(value);
                    }
                    Line::Blank => self.dispatch(held.take(), dispatch),
                    Line::Done => {}
                }
                // Its memory serves the next line.
                line.clear();
                self.line = line;
            }
        }
        self.keep(held);
        if self.too_large {
            return Err(EventTooLarge { limit: self.limit });
        }
        Ok(())
    }

    /// The `id` of the last dispatched event that had one; empty if none had.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// The reconnection time in milliseconds that the stream asked for with `retry`, if it did.
    #[must_use]
    pub fn retry(&self) -> Option<u64> {
        self.retry
    }

    /// Copies a `data` line that the pending event goes on after.
    fn keep(&mut self, held: Option<&[u8]>) {
        if let Some(line) = held {
            self.pending.push_data(line);
        }
    }

    fn end_line<'a>(&mut self, line: &'a [u8]) -> Line<'a> {
        // "One leading U+FEFF BYTE ORDER MARK character must be ignored if any are present."
        let line = if mem::take(&mut self.at_start) {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            return Line::Blank;
        }
        if let Some(value) = line.strip_prefix(b"data:") {
            return Line::Data(value.strip_prefix(b" ").unwrap_or(value));
        }
        let (field, value) = match memchr::memchr(b':', line) {
            // "If the line starts with a U+003A COLON character (:): Ignore the line."
            Some(0) => return Line::Done,
            Some(colon) => {
                let (field, value) = line.split_at_checked(colon).unwrap_or((line, &[]));
                let value = value.strip_prefix(b":").unwrap_or(value);
                (field, value.strip_prefix(b" ").unwrap_or(value))
            }
            // "Process the field using the whole line as the field name, and the empty string as
            // the field value."
            None => (line, &[][..]),
        };
        match field {
            b"data" => return Line::Data(value),
            b"event" => {
                self.pending.name.clear();
                self.pending.name.extend_from_slice(value);
            }
            // "If the field value does not contain U+0000 NULL, then set the last event ID buffer."
            b"id" if !value.contains(&0) => self.pending.id = Some(value.to_vec()),
            // "If the field value consists of only ASCII digits, then interpret it as an integer."
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                if let Ok(retry) = String::from_utf8_lossy(value).parse() {
                    self.retry = Some(retry);
                }
            }
            _ => {}
        }
        Line::Done
    }

    /// The pending event is complete; `held` is its data, where that was not copied.
    fn dispatch(&mut self, held: Option<&[u8]>, dispatch: &mut dyn FnMut(Event<'_>)) {
        let Pending { name, data, id } = &mut self.pending;
        // The ID counts also where there is nothing to dispatch.
        if let Some(id) = id.take() {
            self.last_event_id = String::from_utf8_lossy(&id).into_owned();
        }
        // "If the data buffer is an empty string, set the data buffer and the event type buffer to
        // the empty string and return." A `data` line without a value leaves its LF in the buffer.
        let complete = held.or_else(|| data.strip_suffix(b"\n"));
        if let Some(data) = complete {
            dispatch(Event { name: String::from_utf8_lossy(name), data });
        }
        name.clear();
        data.clear();
    }
}

/// What a line says.
enum Line<'a> {
    /// The value of a `data` field.
    Data(&'a [u8]),
    /// The end of the event.
    Blank,
    /// Something that is dealt with.
    Done,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sse::{encode_comment, encode_event};

    /// An event's name and text.
    type Decoded = (String, String);

    fn decode_chunks<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Decoded> {
        let mut decoder = Decoder::default();
        let mut events = Vec::new();
        for chunk in chunks {
            decoder
                .feed(chunk, &mut |event| {
                    events.push((event.name.to_string(), event.text().to_string()));
                })
                .unwrap();
        }
        events
    }

    /// Decodes it whole, and once for every place where it can be cut in two.
    fn decode(stream: &[u8]) -> Vec<Decoded> {
        let whole = decode_chunks([stream]);
        for cut in 0..=stream.len() {
            let (head, tail) = stream.split_at(cut);
            assert_eq!(decode_chunks([head, tail]), whole, "cut at byte {cut}");
        }
        assert_eq!(decode_chunks(stream.chunks(1)), whole, "byte by byte");
        whole
    }

    fn event(name: &str, data: &str) -> Decoded {
        (name.into(), data.into())
    }

    #[test]
    fn ends_lines_at_lf_cr_and_crlf() {
        assert_eq!(
            decode(b"data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n"),
            [event("", "a"), event("", "b"), event("", "c"), event("", "d")]
        );
    }

    #[test]
    fn a_crlf_is_one_line_end_wherever_it_is_cut() {
        // Read as two line ends, the LF would dispatch after each line.
        assert_eq!(decode(b"data: a\r\ndata: b\r\n\r\n"), [event("", "a\nb")]);
    }

    #[test]
    fn ignores_one_byte_order_mark_at_the_start_only() {
        assert_eq!(decode(b"\xEF\xBB\xBFdata: a\n\n"), [event("", "a")]);
        assert_eq!(decode(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n"), []);
        assert_eq!(decode(b"data: a\n\xEF\xBB\xBFdata: b\n\n"), [event("", "a")]);
    }

    #[test]
    fn joins_data_lines_and_takes_off_one_space() {
        assert_eq!(decode(b"data\ndata:\ndata:  x\ndata:y: z\n\n"), [event("", "\n\n x\ny: z")]);
    }

    #[test]
    fn ignores_comments_and_unknown_fields() {
        assert_eq!(
            decode(b": ping\n\n:\nnope: 1\nDATA: x\ndata : x\ndata: a\n\n"),
            [event("", "a")]
        );
    }

    #[test]
    fn names_an_event_and_forgets_the_name_after_it() {
        assert_eq!(
            decode(b"event: gap\ndata: 1\n\nevent: lost\n\ndata: 2\n\n"),
            [event("gap", "1"), event("", "2")]
        );
    }

    #[test]
    fn drops_a_last_block_without_its_blank_line() {
        assert_eq!(decode(b"data: a\n\ndata: b\n"), [event("", "a")]);
        assert_eq!(decode(b"data: a\n\ndata: b"), [event("", "a")]);
    }

    #[test]
    fn keeps_the_last_id_and_the_retry_time() {
        let mut decoder = Decoder::default();
        let mut feed = |bytes: &[u8]| {
            decoder.feed(bytes, &mut |_| {}).unwrap();
            (decoder.last_event_id().to_owned(), decoder.retry())
        };
        assert_eq!(feed(b"id: 7\nretry: 1500\n"), (String::new(), Some(1500)));
        assert_eq!(feed(b"\n"), ("7".into(), Some(1500)));
        assert_eq!(feed(b"id: a\0b\nretry: 2s\n\n"), ("7".into(), Some(1500)));
        assert_eq!(feed(b"id\nretry:\n\n"), (String::new(), Some(1500)));
    }

    #[test]
    fn replaces_what_is_no_utf8() {
        assert_eq!(decode(b"data: a\xFFb\xE2\x82\n\n"), [event("", "a\u{FFFD}b\u{FFFD}")]);
    }

    #[test]
    fn refuses_an_event_over_the_limit_after_those_before_it() {
        for stream in [
            &b"data: 1\n\ndata: 234567890\n\n"[..],
            b"data: 1\n\ndata: 2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\ndata: 7\n\n",
            b"data: 1\n\nno end in sight",
            b"data: 1\n\nevent: 123456\nid: 123456\n\n",
        ] {
            for size in 1..=stream.len() {
                let mut decoder = Decoder::with_limit(12);
                let mut data = Vec::new();
                let result = stream.chunks(size).try_for_each(|chunk| {
                    decoder.feed(chunk, &mut |event| data.push(event.text().into_owned()))
                });
                assert_eq!(result, Err(EventTooLarge { limit: 12 }));
                assert_eq!(data, ["1"]);
                assert_eq!(decoder.feed(b"\n\n", &mut |_| {}), Err(EventTooLarge { limit: 12 }));
            }
        }
    }

    #[test]
    fn the_limit_is_the_same_wherever_the_text_is_cut() {
        let text = b"data: a\ndata: 345\n\n";
        for (limit, fits) in [(10, false), (11, true)] {
            for size in 1..=text.len() {
                let mut decoder = Decoder::with_limit(limit);
                let fed = text.chunks(size).try_for_each(|chunk| decoder.feed(chunk, &mut |_| ()));
                assert_eq!(fed.is_ok(), fits, "{limit} bytes in chunks of {size}");
            }
        }
    }

    #[test]
    fn a_long_stream_of_small_events_never_meets_the_limit() {
        let mut decoder = Decoder::with_limit(16);
        let mut count = 0;
        for _ in 0..1000 {
            decoder.feed(b"data: 12345\n\n: ping\n\n", &mut |_| count += 1).unwrap();
        }
        assert_eq!(count, 1000);
    }

    proptest! {
        #[test]
        fn what_was_encoded_decodes_to_itself_wherever_it_is_cut(
            events in prop::collection::vec(("[^\r\n\0]{0,8}", "[^\r]{0,40}", any::<bool>()), 0..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut stream = Vec::new();
            for (name, data, comment) in &events {
                if *comment {
                    encode_comment(&mut stream, "ping");
                }
                encode_event(&mut stream, name, data);
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.sort_unstable();
            let mut chunks = Vec::new();
            let mut start = 0;
            for cut in cuts {
                chunks.push(&stream[start..cut]);
                start = cut;
            }
            chunks.push(&stream[start..]);
            let expected: Vec<Decoded> = events
                .iter()
                .map(|(name, data, _)| event(name, data))
                .collect();
            prop_assert_eq!(decode_chunks(chunks), expected);
        }
    }
}
