use std::{io::IoSliceMut, ops::Range};

use sandpipe_protocol::{
    Characters, MAX_EVENT_OUTPUT, OutputType,
    frame::{Frame, HEADER_LEN, Payload, header},
};

/// The most bytes of a character that are not all of it.
const UNFINISHED: usize = 3;

/// The most bytes that are read for one frame. With what goes before them of a character that was cut, they are at most an event's.
const PAYLOAD: usize = MAX_EVENT_OUTPUT - UNFINISHED;

/// A place for a frame: its header and its payload.
const PLACE: usize = HEADER_LEN + PAYLOAD;

/// What is before the first place: room for the frame of an unfinished character.
const START: usize = HEADER_LEN + UNFINISHED;

/// Memory that output is read into. It has room for the headers of frames, so that what was read becomes frames where it lies.
#[derive(Debug, Default)]
pub(super) struct FrameBlock(pub(super) Vec<u8>);

/// What was made of a block.
#[derive(Debug)]
pub(super) struct MadeFrames {
    /// Where the frames lie in it.
    pub(super) place: Range<usize>,
    /// Bytes of the room for another block: before them a frame with the beginning of a character has to come, for which there is no
    /// room between two others. It is seldom needed, where what is no text ends in the beginnings of several characters.
    pub(super) rest: Vec<u8>,
}

/// How large a block is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BlockSize {
    /// For what comes line by line.
    #[default]
    Small,
    /// For what does not fit there.
    Large,
}

impl BlockSize {
    /// In bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Small => 8 * 1024,
            Self::Large => START + 4 * PLACE,
        }
    }
}

impl FrameBlock {
    /// Where output is to be read to, in this order.
    pub(super) fn room(&mut self) -> Vec<IoSliceMut<'_>> {
        let places = self.0.get_mut(START..).unwrap_or_default().chunks_mut(PLACE);
        places.filter_map(|place| place.get_mut(HEADER_LEN..)).map(IoSliceMut::new).collect()
    }

    /// Makes frames of the first `len` bytes of the room. The first one has this sequence; `characters`
    /// are those of the stream, up to what was read. No bytes make the frame that stands for the end of the stream.
    ///
    /// A frame that ends within a character leaves it to the next one, except for the last frame: nobody knows when the rest comes. The
    /// next frame of the stream then comes after one that has the character's beginning.
    pub(super) fn make_frames(
        &mut self,
        kind: OutputType,
        len: usize,
        mut sequence: u64,
        time: u64,
        characters: &mut Characters,
    ) -> MadeFrames {
        let mut unfinished = Vec::new();
        if !characters.unfinished().is_empty() {
            let payload = Payload::Unfinished(kind, characters.unfinished());
            Frame { sequence, time, payload }.write(&mut unfinished);
        }
        let start = START - unfinished.len();
        self.put(start, &unfinished);
        let (mut left, mut place, mut carried) = (len, START, 0);
        loop {
            let read_at = place + HEADER_LEN;
            let payload_at = read_at - carried;
            let mut end = read_at + left.min(PAYLOAD);
            left -= left.min(PAYLOAD);
            let before = *characters;
            characters.next(self.0.get(payload_at..end).unwrap_or_default());
            carried = 0;
            let cut = characters.unfinished().len();
            if left > 0 && cut > 0 {
                let mut without = before;
                without.next(self.0.get(payload_at..end - cut).unwrap_or_default());
                if without.unfinished().is_empty() {
                    *characters = without;
                    carried = cut;
                    end -= cut;
                    // The next header comes between.
                    self.0.copy_within(end..end + cut, end + HEADER_LEN);
                }
            }
            let header = header(kind, end - payload_at, sequence, time);
            self.put(payload_at - HEADER_LEN, &header);
            if left == 0 {
                return MadeFrames { place: start..end, rest: Vec::new() };
            }
            if carried == 0 && cut > 0 {
                let bytes = self.room().into_iter().flat_map(|part| part.to_vec());
                let rest = bytes.take(len).skip(len - left).collect();
                return MadeFrames { place: start..end, rest };
            }
            sequence += 1;
            place += PLACE;
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.0.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;
    use sandpipe_protocol::frame::split_frame;

    use super::*;

    /// The frames of bytes, which were read in pieces of these lengths.
    fn frames_of(mut bytes: &[u8], reads: &[usize]) -> Vec<u8> {
        let mut characters = Characters::default();
        let mut frames = Vec::new();
        let mut reads = reads.iter().cycle();
        let mut sequence = 1;
        while !bytes.is_empty() {
            let mut block = FrameBlock(vec![0; BlockSize::Large.len()]);
            let (read, rest) = bytes.split_at(bytes.len().min(*reads.next().unwrap()));
            let len = (&mut &*read).read_vectored(&mut block.room()).unwrap();
            assert_eq!(len, read.len());
            let made = block.make_frames(OutputType::Stdout, len, sequence, 7, &mut characters);
            sequence += count(&block.0[made.place.clone()]);
            frames.extend_from_slice(&block.0[made.place]);
            bytes = &bytes[len - made.rest.len()..];
            assert!(bytes.starts_with(&made.rest) && bytes.ends_with(rest));
        }
        frames
    }

    fn count(mut frames: &[u8]) -> u64 {
        let mut count = 0;
        while let Some((frame, rest)) = split_frame(frames).unwrap() {
            count += u64::from(matches!(frame.payload, Payload::Output(..)));
            frames = rest;
        }
        count
    }

    /// Checks that the frames are numbered and give the bytes back; returns the payloads.
    fn check(bytes: &[u8], mut frames: &[u8]) -> Vec<Vec<u8>> {
        let (mut payloads, mut before, mut sequence) = (Vec::new(), Vec::new(), 1);
        let mut characters = Characters::default();
        while let Some((frame, rest)) = split_frame(frames).unwrap() {
            assert_eq!((frame.sequence, frame.time), (sequence, 7));
            match frame.payload {
                Payload::Unfinished(_, unfinished) => before = unfinished.to_vec(),
                Payload::Output(_, payload) => {
                    // Who begins here knows what who has followed knows.
                    assert_eq!(characters.unfinished(), before, "before {sequence}");
                    characters.next(payload);
                    payloads.push(payload.to_vec());
                    before.clear();
                    sequence += 1;
                }
                other => panic!("{other:?}"),
            }
            frames = rest;
        }
        assert!(frames.is_empty());
        assert_eq!(payloads.concat(), bytes);
        assert!(payloads.iter().all(|payload| payload.len() <= MAX_EVENT_OUTPUT));
        payloads
    }

    #[test]
    fn what_is_read_at_once_is_cut_between_characters_only() {
        for text in ["\u{1F600}".repeat(30_000), "x\u{20AC}".repeat(30_000)] {
            let payloads = check(text.as_bytes(), &frames_of(text.as_bytes(), &[131_000]));
            assert_eq!(payloads.len(), 4);
            assert!(payloads.iter().all(|payload| str::from_utf8(payload).is_ok()));
        }
        // What is no text at all is cut where it ends.
        let bytes = vec![0xFF; 70_000];
        let payloads = check(&bytes, &frames_of(&bytes, &[131_000]));
        assert_eq!(payloads.iter().map(Vec::len).collect::<Vec<_>>(), [32_765, 32_765, 4_470]);
        // What may be the beginning of a character at each place.
        let bytes = vec![0xC3; 140_000];
        assert_eq!(check(&bytes, &frames_of(&bytes, &[131_000])).len(), 5);
    }

    #[test]
    fn the_end_within_a_character_is_an_empty_frame_behind_the_characters_beginning() {
        let mut characters = Characters::default();
        characters.next(b"\xE2\x82");
        let mut block = FrameBlock(vec![0; BlockSize::Small.len()]);
        let made = block.make_frames(OutputType::Stderr, 0, 4, 7, &mut characters);
        let (beginning, rest) = split_frame(&block.0[made.place]).unwrap().unwrap();
        assert_eq!(beginning.payload, Payload::Unfinished(OutputType::Stderr, b"\xE2\x82"));
        let (end, rest) = split_frame(rest).unwrap().unwrap();
        assert_eq!((end.sequence, end.payload), (4, Payload::Output(OutputType::Stderr, b"")));
        assert!(rest.is_empty() && characters.unfinished().is_empty());
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_however_it_is_read(
            pieces in prop::collection::vec(prop::sample::select(vec!["a", "\u{e9}", "\u{20AC}", "\u{1F600}"]), 1..20),
            offset in 0_usize..4,
            noise in prop::collection::vec(prop::sample::select(vec![0xC3, 0xE2, 0x82, 0xF0, 0x9F, b'a']), 0..7),
            reads in prop::collection::vec(1_usize..131_060, 1..4),
        ) {
            let text = pieces.concat().repeat(6_000);
            let bytes = &text.as_bytes()[offset.min(text.len())..];
            check(bytes, &frames_of(bytes, &reads));
            let noise = noise.repeat(20_000);
            check(&noise, &frames_of(&noise, &reads));
        }
    }
}
