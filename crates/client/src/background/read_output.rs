//! Reading the output of a process.

use sandpipe_protocol::json_object;

use super::answer::ScriptAnswer;
use super::duration::{Slice, whole_milliseconds};
use super::process::State;
use super::target::ScriptCall;
use super::{Background, BackgroundStatus, Filter, ProcessId, ReadOptions, Start};
use crate::{Call, Result};

/// A piece of output. No character is cut in two, unless the process was.
#[derive(Debug)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct BackgroundOutput {
    /// The text.
    pub output: String,
    /// Where the next read goes on.
    pub next_offset: u64,
    /// The process's status, as it was before the output was looked at.
    pub status: BackgroundStatus,
    /// The process's exit code.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub exit_code: Option<i32>,
}

json_object!(ToJson for BackgroundOutput {
    output: "output",
    next_offset: "nextOffset",
    status: "status",
    exit_code: "exitCode",
});

/// A piece of output and where it was taken from.
pub(super) struct Window {
    pub(super) chunk: BackgroundOutput,
    from: u64,
    /// How much there was of the whole.
    pub(super) size: u64,
}

impl Background {
    /// Reads output from a place on.
    pub fn read_output(&self, id: ProcessId, options: ReadOptions) -> Call<BackgroundOutput> {
        let background = self.clone();
        Box::pin(async move { Ok(background.read_window(&id, &options).await?.chunk) })
    }

    /// Reads a piece that holds no part of a character and, with a filter, no part of a line, unless that is
    /// all there will be of it.
    pub(super) async fn read_window(
        &self,
        id: &ProcessId,
        options: &ReadOptions,
    ) -> Result<Window> {
        let purpose = ScriptCall::new("read output", id.clone());
        let deadline = self.now_ms() + options.wait_ms;
        let mut start = options.start;
        loop {
            let slice = Slice::until(deadline - self.now_ms());
            let wait_ms = whole_milliseconds(slice.milliseconds);
            let script = options.script(self.location.script_of(id), start, wait_ms);
            let output = self.run_until(&purpose, &script, None).await?;
            let filter = options.filter.as_ref();
            let window = output.take(&purpose, |answer| read_window(answer, filter))?;
            let Window { chunk, from, .. } = &window;
            let over = chunk.status != BackgroundStatus::Running;
            if chunk.next_offset > *from || over || slice.is_last {
                return Ok(window);
            }
            // The end that a tail is counted from is that of the first look.
            start = Start::Offset(*from);
        }
    }
}

pub(super) fn read_window(answer: &ScriptAnswer<'_>, filter: Option<&Filter>) -> Option<Window> {
    let state = State::read(answer.section("state")?)?;
    let mut numbers = answer.section("window")?.split_ascii_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    let (from, to, size): (u64, u64, u64) = (next()?, next()?, next()?);
    let pieces = answer.sections(&["stdout", "stderr"]);
    let output = match filter {
        Some(filter) => filter.apply(&pieces.collect::<Vec<_>>()),
        None => pieces.map(|(_, text)| text).collect(),
    };
    Some(Window {
        chunk: BackgroundOutput {
            output,
            next_offset: to,
            status: state.status(),
            exit_code: state.code,
        },
        from,
        size,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::atomic::{AtomicU32, Ordering};

    use proptest::prelude::*;

    use super::super::lines::choose_lines;
    use super::super::location::Location;
    use super::super::read_options::Stream;
    use super::*;
    use crate::nonce::Nonce;

    /// The files of a process, which goes when it is dropped. This very program stands for one that runs.
    struct Files {
        base: PathBuf,
        id: ProcessId,
    }

    fn new_id() -> ProcessId {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes[4..8].copy_from_slice(&std::process::id().to_be_bytes());
        // The first of them make the id.
        bytes.rotate_left(2);
        ProcessId::of_bytes(bytes)
    }

    impl Files {
        fn new() -> Self {
            let id = new_id();
            let base = std::env::temp_dir().join(format!("sandpipe-read-test-{}", id.as_str()));
            let files = Self { base, id };
            fs::create_dir_all(files.path("")).unwrap();
            let stat = fs::read_to_string("/proc/self/stat").unwrap();
            let began = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap();
            let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
            let (pid, boot) = (std::process::id(), boot.trim());
            let meta = format!("{{\"pid\":{pid},\"startTime\":\"{began}@{boot}\",\n}}\n");
            fs::write(files.path("meta.json"), meta).unwrap();
            files
        }

        fn path(&self, name: &str) -> PathBuf {
            self.base.join("w").join(self.id.as_str()).join(name)
        }

        fn write(&self, stdout: &[u8], stderr: &[u8]) {
            fs::write(self.path("stdout.log"), stdout).unwrap();
            fs::write(self.path("stderr.log"), stderr).unwrap();
        }

        fn end(&self) {
            fs::write(self.path("exit_code"), "0\n").unwrap();
        }

        /// The bytes that a read gives, and where the next begins.
        fn read(&self, stream: Stream, offset: u64, max_bytes: u64) -> (Vec<u8>, u64) {
            let mut options = ReadOptions::stdout_from(offset, max_bytes);
            options.stream = stream;
            let (output, nonce) = self.run(&options);
            // Each byte as a character, so that those that are no text are seen, too.
            let text: String = output.iter().copied().map(char::from).collect();
            let window = read_window(&ScriptAnswer::find(&text, &nonce).unwrap(), None).unwrap();
            let bytes = window.chunk.output.chars().map(|c| u8::try_from(c).unwrap()).collect();
            (bytes, window.chunk.next_offset)
        }

        /// The lines of both streams that a read by line gives, and where the next begins.
        fn read_lines(&self, offset: u64, max_bytes: u64) -> (Vec<String>, u64) {
            let mut options = ReadOptions::stdout_from(offset, max_bytes);
            options.stream = Stream::Both;
            options.filter = Some(Filter::of_nothing());
            let (output, nonce) = self.run(&options);
            let text = String::from_utf8(output).unwrap();
            let answer = ScriptAnswer::find(&text, &nonce).unwrap();
            let pieces: Vec<_> = answer.sections(&["stdout", "stderr"]).collect();
            let lines = choose_lines(&pieces, |_| true);
            let next_offset = read_window(&answer, None).unwrap().chunk.next_offset;
            (lines.lines().map(str::to_owned).collect(), next_offset)
        }

        fn run(&self, options: &ReadOptions) -> (Vec<u8>, Nonce) {
            let location = Location::at(self.base.to_str().unwrap());
            let nonce = Nonce::of_bytes(*b"0123456789abcdef");
            let script = options.script(location.script_of(&self.id), options.start, 0);
            let script = script.render(&nonce);
            (Command::new("sh").args(["-c", &script]).output().unwrap().stdout, nonce)
        }

        /// Reads from a place on until there is no more.
        fn read_on(&self, stream: Stream, mut offset: u64, max_bytes: u64) -> Vec<Vec<u8>> {
            let mut pieces = Vec::new();
            loop {
                let (piece, next) = self.read(stream, offset, max_bytes);
                assert_eq!(next, offset + piece.len() as u64);
                assert!(piece.len() as u64 <= max_bytes);
                if piece.is_empty() {
                    return pieces;
                }
                pieces.push(piece);
                offset = next;
            }
        }
    }

    impl Drop for Files {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.base).unwrap();
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn text_is_read_in_whole_characters_while_it_is_written(
            text in "[aé€😀\n]{0,16}", cut in 0_usize..40, max_bytes in 4_u64..12,
        ) {
            let files = Files::new();
            let cut = cut.min(text.len());
            files.write(text.as_bytes().get(..cut).unwrap(), b"");
            let mut pieces = files.read_on(Stream::Stdout, 0, max_bytes);
            let seen = pieces.concat().len();
            prop_assert_eq!(seen, text.floor_char_boundary(cut));
            files.write(text.as_bytes(), b"");
            files.end();
            pieces.extend(files.read_on(Stream::Stdout, seen as u64, max_bytes));
            prop_assert_eq!(pieces.concat(), text.as_bytes());
            for piece in pieces {
                prop_assert!(str::from_utf8(&piece).is_ok(), "{piece:?}");
            }
        }

        #[test]
        fn bytes_that_are_no_text_are_read_once_each(
            bytes in proptest::collection::vec(
                prop_oneof![Just(b'a'), Just(0x80), Just(0xc3), Just(0xe2), Just(0xf0), any::<u8>()],
                0..16,
            ),
            max_bytes in 4_u64..8,
        ) {
            let files = Files::new();
            files.write(&bytes, b"");
            let running = files.read_on(Stream::Stdout, 0, max_bytes).concat();
            prop_assert!(bytes.len() - running.len() < 4);
            files.end();
            prop_assert_eq!(files.read_on(Stream::Stdout, 0, max_bytes).concat(), bytes);
        }

        #[test]
        fn both_streams_have_one_order_for_every_reader(
            steps in proptest::collection::vec(("[aé]{0,3}", "[x€]{0,3}", any::<bool>()), 1..5),
            max_bytes in 4_u64..9,
        ) {
            let files = Files::new();
            let (mut out, mut err) = (String::new(), String::new());
            let mut expected = String::new();
            let (mut seen_out, mut seen_err) = (0, 0);
            let last = steps.len() - 1;
            for (index, (more_out, more_err, looked_at)) in steps.into_iter().enumerate() {
                out += &more_out;
                err += &more_err;
                files.write(out.as_bytes(), err.as_bytes());
                if looked_at || index == last {
                    files.read(Stream::Both, 0, 4);
                    expected += out.get(seen_out..).unwrap();
                    expected += err.get(seen_err..).unwrap();
                    (seen_out, seen_err) = (out.len(), err.len());
                }
            }
            prop_assert_eq!(files.read_on(Stream::Both, 0, max_bytes).concat(), expected.as_bytes());
            files.end();
            prop_assert_eq!(files.read_on(Stream::Both, 0, 1000).concat(), expected.as_bytes());
        }
    }

    #[test]
    fn what_only_looks_like_the_beginning_of_a_character_is_not_waited_for() {
        let files = Files::new();
        let bytes = [0xc3, 0xf0, 0x80, 0x80];
        files.write(&bytes, b"");
        assert_eq!(files.read_on(Stream::Stdout, 0, 4).concat(), [0xc3]);
        files.end();
        assert_eq!(files.read_on(Stream::Stdout, 0, 4).concat(), bytes);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn lines_are_read_whole_whoever_looked_in_the_middle_of_one(
            steps in proptest::collection::vec(
                ("[aé\n]{0,4}", "[x€\n]{0,4}", any::<bool>(), any::<bool>()), 1..6,
            ),
        ) {
            let files = Files::new();
            let (mut out, mut err) = (String::new(), String::new());
            let (mut read, mut offset) = (Vec::new(), 0);
            let mut read_on = |files: &Files| {
                let (lines, next_offset) = files.read_lines(offset, 1000);
                read.extend(lines);
                offset = next_offset;
            };
            for (more_out, more_err, looked_at, read_by_line) in steps {
                out += &more_out;
                err += &more_err;
                files.write(out.as_bytes(), err.as_bytes());
                if looked_at {
                    files.read(Stream::Both, 0, 4);
                }
                if read_by_line {
                    read_on(&files);
                }
            }
            files.end();
            read_on(&files);
            // Each stream has letters of its own, and its lines are in order.
            let of = |letters: &str, lines: &[String]| -> Vec<String> {
                lines.iter().filter(|line| line.contains(|c| letters.contains(c))).cloned().collect()
            };
            let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(of("aé", &read), of("aé", &lines(&out)));
            prop_assert_eq!(of("x€", &read), of("x€", &lines(&err)));
            prop_assert_eq!(read.len(), lines(&out).len() + lines(&err).len());
        }
    }
}
