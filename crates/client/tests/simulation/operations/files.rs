//! Files that are read, written, moved and removed: whole or not at all, every byte once.

use std::collections::VecDeque;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use sandpipe_client::execs::InputSource;
use sandpipe_client::files::{
    Create, FilePath, FileReader, Part, Target, WriteArguments, move_file, read_bytes, remove,
    write,
};
use sandpipe_client::{AbortSignal, Error, HostValue, Result};

use crate::executor::{Executor, Sleep};
use crate::host::bytes_of;
use crate::invariants::{ensure, was_aborted};
use crate::retry_hooks::HookFailed;
use crate::runner::{Verdict, check};
use crate::world::World;

/// What a source throws.
#[derive(Debug)]
struct SourceFailed;

/// Why a call was aborted.
#[derive(Debug)]
struct Enough;

fn path(name: &str) -> FilePath {
    FilePath::parse(name).expect("a path")
}

fn target(name: &str) -> Target {
    path(name).into()
}

/// A text of some kind and length.
fn text(kind: char, random: &mut fastrand::Rng) -> Vec<u8> {
    let bits = random.u32(..14);
    let length = random.usize(..1 << bits);
    // No eight bytes are like the eight before them.
    let eights = (b'0'..=b'9').cycle().flat_map(|digit| [kind as u8, digit].repeat(4));
    eights.take(length).collect()
}

#[test]
fn a_file_is_read_whole_and_is_never_that_of_two() {
    check("file_read", |world, random| {
        let (old, new) = (text('a', random), text('b', random));
        world.agent.files.set("f", old.clone());
        // A reading takes some milliseconds, or seconds where something goes wrong.
        let max_ms = [30.0, 3_000.0][random.usize(..2)];
        let changes = world.maybe((random.u8(..4) == 0).then(|| random.f64() * max_ms));
        if let Some(ms) = changes {
            let (agent, new) = (world.agent.clone(), new.clone());
            world.after(ms, "the file changes", move || agent.files.set("f", new));
        }
        let part = match random.u8(..3) {
            0 => {
                Part { offset: random.u64(..300), length: random.bool().then(|| random.u64(..300)) }
            }
            _ => Part::default(),
        };
        let read = if random.bool() && part.offset == 0 && part.length.is_none() {
            let reading = read_bytes(&world.client(), target("f"), None);
            world.run(reading)?.map(|bytes| bytes_of(&bytes).to_vec())
        } else {
            let mut reader = FileReader::new(world.client().child(), target("f"), part);
            world.run(async move {
                let mut all = Vec::new();
                let mut take = |bytes: &[u8]| {
                    assert!(!bytes.is_empty(), "a chunk of nothing");
                    all.extend_from_slice(bytes);
                    Result::Ok(())
                };
                while reader.read_into(&mut take).await? {}
                Ok(all)
            })?
        };
        let has_changed = changes.is_some();
        match read {
            Ok(bytes) => {
                let is_true = |content: &[u8]| bytes == part_of(content, part);
                ensure!(
                    is_true(&old) || has_changed && is_true(&new),
                    "{bytes:?} of {old:?} or {new:?}"
                );
            }
            Err(error) => match *error {
                Error::FileChanged { .. } => ensure!(has_changed, "it has not changed"),
                Error::Unsupported { .. } => ensure!(!has_files(world), "the agent has files"),
                error => ensure!(!world.setup.is_survivable(), "not survived: {error}"),
            },
        }
        Ok(())
    });
}

fn part_of(content: &[u8], part: Part) -> &[u8] {
    let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX).min(content.len());
    let end = part.length.map_or(u64::MAX, |length| part.offset + length);
    &content[place(part.offset)..place(end)]
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    check("file_write", |world, random| {
        let old = random.bool().then(|| text('a', random));
        if let Some(old) = &old {
            world.agent.files.set("f", old.clone());
        }
        // Some are of several pieces.
        let mut new = text('b', random);
        if random.u8(..16) == 0 {
            new = new
                .iter()
                .copied()
                .cycle()
                .take(random.usize(..1 << 13) * new.len().min(700))
                .collect();
        }
        let (appends, is_new) = (random.u8(..4) == 0, random.u8(..4) == 0);
        let is_raw = world.setup.offers("files-raw");
        let fails = world.maybe((random.u8(..8) == 0).then(|| random.usize(..10)));
        let abort_ms = world.maybe((random.u8(..8) == 0).then(|| random.f64() * 500.0));
        // An agent that is started again has forgotten what was uploaded.
        for _ in 0..random.u8(..8) {
            let restart_ms = world.maybe(Some(random.f64() * 3_000.0));
            if let Some(ms) = restart_ms.filter(|_| !world.setup.is_survivable()) {
                let agent = world.agent.clone();
                world.after(ms, "the agent is started again", move || agent.files.forget_uploads());
            }
        }
        let signal = AbortSignal::default();
        if let Some(ms) = abort_ms {
            let controller = signal.controller();
            world.after(ms, "abort", move || controller.abort(Some(HostValue::new(Enough))));
        }
        let length = new.len();
        let source = Source::new(&new, fails, world, random);
        let total = random.bool().then_some(new.len() as u64);
        let arguments = WriteArguments {
            data: Box::new(source),
            total,
            mode: None,
            appends: appends && is_raw,
            create: if is_new && is_raw { Create::New } else { Create::Always },
            signal: Some(signal.clone()),
            on_progress: None,
        };
        let (appends, is_new) = (arguments.appends, arguments.create == Create::New);
        let written = world.run(write(&world.client(), target("f"), arguments))?;
        let whole = if appends { [old.clone().unwrap_or_default(), new].concat() } else { new };
        let there = world.agent.files.content("f");
        let is_old = there == old;
        let is_whole = there.as_ref() == Some(&whole);
        ensure!(is_old || is_whole, "{there:?} is neither {old:?} nor {whole:?}");
        match written {
            Ok(info) => {
                ensure!(is_whole, "it is not written");
                ensure!(!is_new || old.is_none(), "it was there before");
                ensure!(info.size == whole.len() as u64, "it has not {} bytes", info.size);
            }
            // Of nothing an agent can't tell whether it was written before.
            Err(error) if is_new && length == 0 && is_unknown(&error) => {}
            Err(error) => judge_failure(world, &error, old.is_some() && is_new, is_old)?,
        }
        // What was given up is said to be within seconds.
        world.run(world.executor.sleep(if world.setup.is_calm() { 100.0 } else { 600_000.0 }))?;
        let abandoned = world.agent.files.abandoned();
        ensure!(abandoned == 0 || !world.setup.is_survivable(), "{abandoned} uploads are left");
        Ok(())
    });
}

fn is_unknown(error: &Error) -> bool {
    matches!(error, Error::OutcomeUnknown { .. })
}

fn judge_failure(world: &World, error: &Error, was_there: bool, is_old: bool) -> Verdict {
    match error {
        Error::Unsupported { .. } => {
            ensure!(!has_files(world), "the agent has files");
            // What it says of that may not arrive up to when its answer is to be understood.
            ensure!(is_old || !world.setup.is_survivable(), "not supported, and written");
            Ok(())
        }
        error if was_aborted::<Enough>(error) => Ok(()),
        Error::Thrown(value) if value.downcast_ref::<SourceFailed>().is_some() => {
            ensure!(is_old, "its source failed, and it is written");
            Ok(())
        }
        Error::Thrown(value) => {
            ensure!(value.downcast_ref::<HookFailed>().is_some(), "nothing has thrown: {error}");
            ensure!(!world.setup.is_survivable(), "not survived: {error}");
            Ok(())
        }
        Error::Http { status: 412, .. } if was_there => {
            ensure!(is_old, "refused, and written");
            Ok(())
        }
        Error::Http { status: 412, .. } => Err("refused, and there was none".to_owned()),
        error => {
            ensure!(!world.setup.is_survivable(), "not survived: {error}");
            Ok(())
        }
    }
}

#[test]
fn a_file_is_moved_once_and_removed_once() {
    check("file_move", |world, random| {
        let content = text('a', random);
        world.agent.files.set("from", content.clone());
        let client = world.client();
        let moved = world.run(move_file(&client, &target("from"), path("to"), "to".to_owned()))?;
        let is_at = |name| world.agent.files.content(name).as_ref() == Some(&content);
        let (is_before, is_after) = (is_at("from"), is_at("to"));
        ensure!(is_before != is_after, "it is at both places, or at none");
        match moved {
            Ok(()) => ensure!(is_after, "it is not moved"),
            Err(error) if matches!(*error, Error::Unsupported { .. }) => {
                ensure!(is_before && !has_files(world), "the agent has files");
            }
            Err(error) => {
                let is_unknown = matches!(*error, Error::OutcomeUnknown { .. } | Error::Thrown(_));
                ensure!(is_before || is_unknown, "moved, and the error denies it: {error}");
                ensure!(!world.setup.is_survivable(), "not survived: {error}");
            }
        }
        let name = if is_after { "to" } else { "from" };
        match world.run(remove(&client, &target(name), false))? {
            Ok(()) => ensure!(world.agent.files.content(name).is_none(), "it is not removed"),
            Err(error) => {
                ensure!(!has_files(world), "not survived: {error}");
            }
        }
        Ok(())
    });
}

/// Whether the agent has files, and what it says of that arrives.
fn has_files(world: &World) -> bool {
    let says_nothing = world.setup.features.is_empty();
    world.setup.is_survivable() && (world.setup.offers("files") || says_nothing)
}

/// Gives bytes piece by piece. Some fail before the end.
struct Source {
    pieces: VecDeque<Vec<u8>>,
    fails: bool,
    executor: Executor,
    pause_ms: f64,
    pause: Option<Sleep>,
}

impl Source {
    fn new(bytes: &[u8], fails: Option<usize>, world: &World, random: &mut fastrand::Rng) -> Self {
        let size = 1 << random.u32(8..21);
        let mut pieces: VecDeque<_> = bytes.chunks(size).map(<[u8]>::to_vec).collect();
        if let Some(left) = fails {
            pieces.truncate(left);
        }
        let pause_ms = if random.bool() { random.f64() * 20.0 } else { 0.0 };
        let (executor, pause) = (world.executor.clone(), None);
        Self { pieces, fails: fails.is_some(), executor, pause_ms, pause }
    }
}

impl InputSource for Source {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Vec<u8>>>> {
        let pause_ms = self.pause_ms;
        let pause = self.pause.get_or_insert_with(|| self.executor.sleep(pause_ms));
        if pause.poll_unpin(context).is_pending() {
            return Poll::Pending;
        }
        self.pause = None;
        match self.pieces.pop_front() {
            None if self.fails => {
                Poll::Ready(Err(Error::Thrown(HostValue::new(SourceFailed)).into()))
            }
            piece => Poll::Ready(Ok(piece)),
        }
    }
}
