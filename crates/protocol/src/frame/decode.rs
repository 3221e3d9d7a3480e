use super::{Frame, HEADER_LEN, MAX_PAYLOAD, Payload};
use crate::{Gap, OutputType};

/// Takes frames out of bytes that are cut anywhere. It holds one unfinished frame at most.
#[derive(Debug, Default)]
pub struct Decoder {
    unfinished: Vec<u8>,
}

/// What can't be frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A payload is too long.
    #[error("a frame has a payload of {0} bytes, and may have {MAX_PAYLOAD}")]
    TooLong(u32),
    /// A payload is not of the size that its type has.
    #[error("a frame of type {type_byte} has a payload of {len} bytes")]
    WrongSize {
        /// The type.
        type_byte: u8,
        /// How many bytes it has.
        len: usize,
    },
}

impl Decoder {
    /// Takes the next bytes and hands over each frame that they complete, in order. What lies whole in them is not copied.
    ///
    /// # Errors
    /// [`FrameError`], after the frames that came before.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        dispatch: &mut dyn FnMut(Frame<'_>),
    ) -> Result<(), FrameError> {
        let mut rest = chunk;
        while !self.unfinished.is_empty() && !rest.is_empty() {
            let missing = match frame_len(&self.unfinished)? {
                Some(len) => len - self.unfinished.len(),
                None => HEADER_LEN - self.unfinished.len(),
            };
            let (next, after) = rest.split_at(missing.min(rest.len()));
            self.unfinished.extend_from_slice(next);
            rest = after;
            if let Some((frame, _)) = split_frame(&self.unfinished)? {
                dispatch(frame);
                self.unfinished.clear();
            }
        }
        while let Some((frame, after)) = split_frame(rest)? {
            dispatch(frame);
            rest = after;
        }
        self.unfinished.extend_from_slice(rest);
        Ok(())
    }
}

/// Takes off the first frame; None where its end is not there.
///
/// # Errors
/// [`FrameError`].
#[inline]
pub fn split_frame(bytes: &[u8]) -> Result<Option<(Frame<'_>, &[u8])>, FrameError> {
    let Some(len) = frame_len(bytes)? else {
        return Ok(None);
    };
    let Some((frame, rest)) = bytes.split_at_checked(len) else {
        return Ok(None);
    };
    let Some(([_, _, _, _, type_byte, numbers @ ..], payload)) =
        frame.split_first_chunk::<HEADER_LEN>()
    else {
        return Ok(None);
    };
    let [sequence, time] = two_numbers(numbers);
    let payload = read_payload(*type_byte, payload)?;
    Ok(Some((Frame { sequence, time, payload }, rest)))
}

/// How long the first frame is, header and payload; None where its header is not whole.
///
/// # Errors
/// [`FrameError::TooLong`].
pub fn frame_len(bytes: &[u8]) -> Result<Option<usize>, FrameError> {
    let Some([a, b, c, d, ..]) = bytes.first_chunk::<HEADER_LEN>() else {
        return Ok(None);
    };
    let len = u32::from_le_bytes([*a, *b, *c, *d]);
    match usize::try_from(len) {
        Ok(len) if len <= MAX_PAYLOAD => Ok(Some(HEADER_LEN + len)),
        _ => Err(FrameError::TooLong(len)),
    }
}

/// How many bytes at the beginning are whole frames.
///
/// # Errors
/// [`FrameError::TooLong`].
pub fn whole_frames_len(bytes: &[u8]) -> Result<usize, FrameError> {
    let mut whole = 0;
    while let Some(rest) = bytes.get(whole..)
        && let Some(len) = frame_len(rest)?
        && len <= rest.len()
    {
        whole += len;
    }
    Ok(whole)
}

fn read_payload(type_byte: u8, payload: &[u8]) -> Result<Payload<'_>, FrameError> {
    let wrong_size = || FrameError::WrongSize { type_byte, len: payload.len() };
    Ok(match type_byte {
        Payload::STDOUT => Payload::Output(OutputType::Stdout, payload),
        Payload::STDERR => Payload::Output(OutputType::Stderr, payload),
        Payload::EXIT => {
            let code = payload.try_into().map_err(|_| wrong_size())?;
            Payload::Exit(i32::from_le_bytes(code))
        }
        Payload::GAP => {
            let [from, to] = two_numbers(payload.try_into().map_err(|_| wrong_size())?);
            Payload::Gap(Gap { from, to })
        }
        Payload::PING => Payload::Ping,
        Payload::EXEC => Payload::Exec(payload),
        // A character of four bytes, less its last one.
        Payload::UNFINISHED_STDOUT | Payload::UNFINISHED_STDERR if payload.len() > 3 => {
            return Err(wrong_size());
        }
        Payload::UNFINISHED_STDOUT => Payload::Unfinished(OutputType::Stdout, payload),
        Payload::UNFINISHED_STDERR => Payload::Unfinished(OutputType::Stderr, payload),
        _ => Payload::Unknown,
    })
}

fn two_numbers(bytes: &[u8; 16]) -> [u64; 2] {
    let halves = [bytes.first_chunk(), bytes.last_chunk()];
    halves.map(|half| half.copied().map_or(0, u64::from_le_bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame that owns its payload.
    #[derive(Clone, Debug)]
    struct Owned {
        sequence: u64,
        time: u64,
        what: u8,
        bytes: Vec<u8>,
        number: i32,
    }

    impl Owned {
        fn frame(&self) -> Frame<'_> {
            let Self { sequence, time, what, bytes, number } = self;
            let payload = match what {
                0 => Payload::Output(OutputType::Stdout, bytes),
                1 => Payload::Output(OutputType::Stderr, bytes),
                2 => Payload::Exit(*number),
                3 => Payload::Gap(Gap { from: *sequence, to: *time }),
                4 => Payload::Ping,
                5 => Payload::Exec(bytes),
                6 => Payload::Unfinished(OutputType::Stdout, &bytes[..bytes.len().min(3)]),
                7 => Payload::Unfinished(OutputType::Stderr, &bytes[..bytes.len().min(3)]),
                _ => Payload::Unknown,
            };
            Frame { sequence: *sequence, time: *time, payload }
        }
    }

    fn owned() -> impl Strategy<Value = Owned> {
        let bytes = prop::collection::vec(any::<u8>(), 0..40);
        (any::<u64>(), any::<u64>(), 0_u8..9, bytes, any::<i32>()).prop_map(
            |(sequence, time, what, bytes, number)| Owned { sequence, time, what, bytes, number },
        )
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_wherever_it_is_cut(
            frames in prop::collection::vec(owned(), 0..8),
            size in 1_usize..60,
        ) {
            let mut bytes = Vec::new();
            for frame in &frames {
                frame.frame().write(&mut bytes);
            }
            let mut decoder = Decoder::default();
            let mut count = 0;
            for chunk in bytes.chunks(size) {
                decoder.feed(chunk, &mut |frame| {
                    assert_eq!(frame, frames[count].frame());
                    count += 1;
                }).unwrap();
            }
            prop_assert_eq!(count, frames.len());
        }
    }

    #[test]
    fn what_is_whole_ends_with_a_frame() {
        let mut bytes = Vec::new();
        for payload in [Payload::Ping, Payload::Output(OutputType::Stdout, b"abc"), Payload::Ping] {
            Frame { sequence: 1, time: 0, payload }.write(&mut bytes);
        }
        let ends = [0, 21, 45, 66];
        for len in 0..=bytes.len() {
            let whole = ends.iter().rfind(|end| **end <= len).copied().unwrap();
            assert_eq!(whole_frames_len(&bytes[..len]), Ok(whole));
        }
    }

    #[test]
    fn the_header_is_what_the_interface_says() {
        let mut bytes = Vec::new();
        let payload = Payload::Output(OutputType::Stderr, b"ab");
        Frame { sequence: 0x0102, time: 0x0304, payload }.write(&mut bytes);
        let expected = [2, 0, 0, 0, 2, 2, 1, 0, 0, 0, 0, 0, 0, 4, 3, 0, 0, 0, 0, 0, 0, b'a', b'b'];
        assert_eq!(bytes, expected);
        assert_eq!(
            bytes[..HEADER_LEN],
            super::super::header(OutputType::Stderr, 2, 0x0102, 0x0304)
        );
    }

    #[test]
    fn what_are_no_frames_is_refused_after_those_before() {
        let mut good = Vec::new();
        Frame { sequence: 1, time: 0, payload: Payload::Ping }.write(&mut good);
        let with = |len: u32, type_byte: u8| {
            let mut bytes = good.clone();
            bytes.extend(len.to_le_bytes());
            bytes.push(type_byte);
            bytes.extend([0; 16 + 8]);
            bytes
        };
        for (bytes, error) in [
            (with(65_537, 1), FrameError::TooLong(65_537)),
            (with(3, 3), FrameError::WrongSize { type_byte: 3, len: 3 }),
            (with(8, 4), FrameError::WrongSize { type_byte: 4, len: 8 }),
            (with(4, 17), FrameError::WrongSize { type_byte: 17, len: 4 }),
        ] {
            for size in 1..=bytes.len() {
                let (mut decoder, mut count) = (Decoder::default(), 0);
                let mut fed = bytes.chunks(size);
                let fed = fed.try_for_each(|chunk| decoder.feed(chunk, &mut |_| count += 1));
                assert_eq!((fed, count), (Err(error), 1), "in chunks of {size}");
            }
        }
    }
}
