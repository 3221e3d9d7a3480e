use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use sandpipe_protocol::{
    ExecStdout,
    frame::{Frame, Payload},
};

use super::index::EXTENSION;
use crate::output::timestamp;

/// What the names of segment files ended with that had Server-Sent Events: a line `data: ` with the JSON of an [`ExecStdout`], and an empty one.
pub(super) const OLD_EXTENSION: &str = "sse";

/// Makes a segment of frames of one of Server-Sent Events. There is one or the other at any time, or both with the same events. An
/// event that was only half written is no part of it.
///
/// # Errors
/// When it holds something else, or can't be read or written.
pub(super) fn convert_segment(old: &Path) -> io::Result<()> {
    let new = old.with_extension(EXTENSION);
    if !new.exists() {
        let unfinished = old.with_extension("converted");
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&unfinished)?;
        write_frames(BufReader::new(File::open(old)?), &mut file)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", old.display())))?;
        // Before the old one goes.
        file.sync_all()?;
        fs::rename(&unfinished, new)?;
    }
    fs::remove_file(old)
}

fn write_frames(mut old: impl BufRead, new: &mut impl Write) -> io::Result<()> {
    let (mut event, mut frame) = (Vec::new(), Vec::new());
    loop {
        event.clear();
        for _ in 0..2 {
            old.read_until(b'\n', &mut event)?;
        }
        let Some(event) = event.strip_suffix(b"\n\n") else {
            return Ok(());
        };
        let json = event.strip_prefix(b"data: ").unwrap_or_default();
        let event: ExecStdout = serde_json::from_slice(json)?;
        let time = event.timestamp.as_deref().and_then(timestamp::parse).unwrap_or_default();
        let payload = Payload::Output(event.kind, event.output.as_bytes());
        frame.clear();
        Frame { sequence: event.sequence, time, payload }.write(&mut frame);
        new.write_all(&frame)?;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sandpipe_protocol::{OutputType, sse::encode_event};

    use super::*;
    use crate::output::{EventReader, Spool, SpoolLimit, StartAfter};

    fn event(sequence: u64, output: &str) -> ExecStdout {
        ExecStdout {
            kind: if sequence.is_multiple_of(2) { OutputType::Stderr } else { OutputType::Stdout },
            output: output.into(),
            sequence,
            timestamp: Some("2026-11-22T18:33:54.007Z".into()),
            exit_code: None,
        }
    }

    /// Events as older agents wrote them.
    fn segment(events: &[ExecStdout]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for event in events {
            encode_event(&mut bytes, "", &serde_json::to_string(event).unwrap());
        }
        bytes
    }

    async fn read(directory: &Path, last: &ExecStdout) -> Vec<ExecStdout> {
        let limit = SpoolLimit::new(SpoolLimit::MIN).unwrap();
        let spool = Arc::new(Spool::left(directory.into(), limit, Some(last), None));
        spool.load().unwrap();
        let mut reader = EventReader::follow(&spool, StartAfter(0));
        let mut json = vec![b'['];
        while reader
            .next(|event| {
                event.write_json(&mut json);
                json.push(b',');
            })
            .await
            .unwrap()
            .is_some()
        {}
        *json.last_mut().unwrap() = b']';
        serde_json::from_slice(&json).unwrap()
    }

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[tokio::test]
    async fn what_an_older_agent_left_is_read_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let long = "\u{20AC}\u{FFFD}\0\r\n\"\\".repeat(2_000);
        let mut events = [event(1, "one\n"), event(2, &long), event(3, "\u{1F600}")].to_vec();
        let torn = segment(&[event(4, "half")]);
        let second = [&segment(&events[2..])[..], &torn[..torn.len() - 1]].concat();
        let last = ExecStdout { exit_code: Some(3), ..event(5, "") };
        events.push(last.clone());
        // The conversion was cut short between its steps, or not.
        for cut_short in ["", "0000.converted", "0000.frames"] {
            fs::write(path.join("0000.sse"), segment(&events[..2])).unwrap();
            fs::write(path.join("0001.sse"), &second).unwrap();
            match cut_short {
                "" => {}
                "0000.converted" => fs::write(path.join(cut_short), "some of it").unwrap(),
                both => {
                    let mut frames = Vec::new();
                    write_frames(&segment(&events[..2])[..], &mut frames).unwrap();
                    fs::write(path.join(both), frames).unwrap();
                }
            }
            for _ in 0..2 {
                let found = read(path, &last).await;
                assert_eq!(found, events[..], "{cut_short}");
                assert_eq!(names(path), ["0000.frames", "0001.frames"]);
            }
            for name in names(path) {
                fs::remove_file(path.join(name)).unwrap();
            }
        }
    }

    #[test]
    fn what_are_no_events_is_left_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("0000.sse");
        fs::write(&path, "data: nonsense\n\n").unwrap();
        assert!(convert_segment(&path).unwrap_err().to_string().contains("0000.sse"));
        assert!(path.exists());
    }
}
