use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use sandpipe_protocol::{Timestamp, WatcherEvent, WatcherEventType};

use super::{FilePath, Files, info};
use crate::{
    ignore_patterns::IgnorePatterns,
    output,
    process::Identity,
    watch::{Change, ChangeKind},
    worker::{Conversation, Watch, WatchReport, WorkerError},
};

/// How a directory is to be watched.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchOptions {
    /// Also what is in directories below it.
    pub(crate) recursive: bool,
    pub(crate) ignore: IgnorePatterns,
    /// In the terms of the extension: renames are told as such, and lost events as an overflow.
    pub(crate) extended: bool,
}

/// A directory that is watched, until this is dropped.
#[derive(Debug)]
pub(crate) struct WatchedDirectory {
    path: PathBuf,
    conversation: Conversation,
    extended: bool,
    has_ended: bool,
}

impl Files {
    /// Watches a directory: what changes after this has returned is told.
    ///
    /// # Errors
    /// There is none that the user may read, or the system allows no more watches.
    pub(crate) async fn watch(
        &self,
        user: Option<&Identity>,
        path: &FilePath,
        options: WatchOptions,
    ) -> Result<WatchedDirectory, WorkerError> {
        let WatchOptions { recursive, ignore, extended } = options;
        let path = path.absolute().to_owned();
        let watch = Watch { path: path.clone(), recursive, ignore, tells_renames: extended };
        let mut conversation = self.workers.open(user, watch, Vec::new()).await?;
        match conversation.answer().await? {
            WatchReport::Connected => {}
            WatchReport::Changes(_) | WatchReport::Ended(_) => return Err(WorkerError::Ended),
        }
        Ok(WatchedDirectory { path, conversation, extended, has_ended: false })
    }
}

impl WatchedDirectory {
    /// That it is being watched.
    pub(crate) fn connected(&self) -> WatcherEvent {
        event(WatcherEventType::Connected, &[&self.path], output::now(), None)
    }

    /// What has happened next; nothing after an error. Nothing is lost where the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Vec<WatcherEvent>> {
        if self.has_ended {
            return None;
        }
        let mut events = Vec::new();
        match self.conversation.answer().await {
            Ok(WatchReport::Connected) => {}
            Ok(WatchReport::Changes(changes)) => {
                for change in changes {
                    events.push(self.told(&change));
                    if self.has_ended {
                        break;
                    }
                }
            }
            Ok(WatchReport::Ended(why)) => events.push(self.error(why, output::now())),
            Err(error) => events.push(self.error(error.to_string(), output::now())),
        }
        Some(events)
    }

    fn told(&mut self, change: &Change) -> WatcherEvent {
        let time = Timestamp(change.time);
        let kind = match change.kind {
            ChangeKind::Added => WatcherEventType::Add,
            ChangeKind::Removed => WatcherEventType::Remove,
            ChangeKind::Changed => WatcherEventType::Change,
            ChangeKind::Renamed => WatcherEventType::Rename,
            ChangeKind::Overflow if self.extended => WatcherEventType::Overflow,
            // The base interface has no other word for it, and goes on after none.
            ChangeKind::Overflow => {
                let why = "events were lost, since more came than were read: watch again, and look at the directory";
                return self.error(why.to_owned(), time);
            }
        };
        let paths: Vec<_> = change.paths.iter().map(|path| OsStr::from_bytes(path)).collect();
        event(kind, &paths, time, None)
    }

    /// The last event.
    fn error(&mut self, message: String, time: Timestamp) -> WatcherEvent {
        self.has_ended = true;
        event(WatcherEventType::Error, &[&self.path], time, Some(message))
    }
}

fn event(
    kind: WatcherEventType,
    paths: &[impl AsRef<Path>],
    time: Timestamp,
    message: Option<String>,
) -> WatcherEvent {
    let paths = paths.iter().map(AsRef::as_ref);
    let is_text = paths.clone().all(|path| path.to_str().is_some());
    WatcherEvent {
        paths: paths.clone().map(|path| path.to_string_lossy().into_owned()).collect(),
        kind,
        timestamp: time.to_string(),
        raw: (!is_text).then(|| paths.map(info::encoded).collect()),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_one_path_is_no_text_all_are_told_raw_too() {
        let paths = [Path::new("/a b"), Path::new(OsStr::from_bytes(b"/\xff"))];
        let told = event(WatcherEventType::Rename, &paths, Timestamp(0), None);
        assert_eq!(told.paths, ["/a b", "/\u{fffd}"]);
        assert_eq!(told.raw.unwrap(), ["/a%20b", "/%FF"]);
        assert_eq!(event(WatcherEventType::Add, &paths[..1], Timestamp(0), None).raw, None);
    }
}
