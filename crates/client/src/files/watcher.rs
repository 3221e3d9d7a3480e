//! Changes in a directory, as they happen.

use std::mem;

use futures_util::future::LocalBoxFuture;
use sandpipe_protocol::json::ToJson;
use sandpipe_protocol::{WatcherEvent, WatcherEventType, json_object};

use super::Target;
use crate::http::{EventSource, read_json};
use crate::{AbortSignal, Agent, Error, Feature, Operation, Result};

const OPERATION: Operation = Operation::WatchDirectory;

/// What of a directory is watched.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Also what is in the directories in it, however deep.
    pub is_recursive: bool,
    /// Globs of what is left out.
    pub ignore: Vec<String>,
}

/// Something that has changed in a directory that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "camelCase"))]
pub struct FileChange {
    /// What has happened.
    #[cfg_attr(feature = "typescript", serde(rename = "type"))]
    pub kind: FileChangeType,
    /// The absolute path that it happened to; of a rename, the one before; of an overflow, the watched directory. What is
    /// not UTF-8 in it is U+FFFD.
    pub path: String,
    /// The path after a rename.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub to: Option<String>,
    /// `path` percent-encoded, where it is not UTF-8.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub raw: Option<String>,
    /// `to` percent-encoded, where it is not UTF-8.
    #[cfg_attr(feature = "typescript", tsify(optional))]
    pub raw_to: Option<String>,
}

/// - `add`: something new is there
/// - `change`: a file has been written to, or its attributes are others
/// - `remove`: something is gone
/// - `rename`: something has another name: `path` before, `to` now. Where the agent can't pair the two, they are `remove` and
///   `add`
/// - `overflow`: changes may have been missed, because there were too many, or the connection broke: look at the directory
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "typescript", derive(tsify::Tsify), serde(rename_all = "lowercase"))]
pub enum FileChangeType {
    /// Something new is there.
    Add,
    /// A file has been written to.
    Change,
    /// Something is gone.
    Remove,
    /// Something has another name.
    Rename,
    /// Changes may have been missed.
    Overflow,
}

json_object!(ToJson for FileChange {
    kind: "type",
    path: "path",
    to: "to",
    raw: "raw",
    raw_to: "rawTo",
});

impl ToJson for FileChangeType {
    fn write(&self, json: &mut Vec<u8>) {
        let name = match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Remove => "remove",
            Self::Rename => "rename",
            Self::Overflow => "overflow",
        };
        name.write(json);
    }
}

/// Watches a directory, over as many connections as it takes: behind each but the first is an overflow, since what happened
/// between them is not known.
pub struct FileWatcher {
    agent: Agent,
    source: EventSource,
    target: Target,
    options: WatchOptions,
    /// All watches have been set before.
    was_connected: bool,
    /// What came together with the word that they are.
    pending: Vec<FileChange>,
}

impl FileWatcher {
    /// Watches this directory from the first read on.
    pub fn new(agent: Agent, target: Target, options: WatchOptions) -> Self {
        let source = EventSource::new(agent.http.clone(), OPERATION);
        Self { agent, source, target, options, was_connected: false, pending: Vec::new() }
    }

    /// Aborted: the watching ends.
    pub fn scope(&self) -> &AbortSignal {
        &self.agent.http.scope
    }

    /// The next changes. The first time there are none: all watches are set, and what changes from now on is told.
    ///
    /// # Errors
    /// [`Error::WatchEnded`] where the directory can't be watched any more.
    pub fn next_changes(&mut self) -> LocalBoxFuture<'_, Result<Vec<FileChange>>> {
        Box::pin(async move {
            if !self.pending.is_empty() {
                return Ok(mem::take(&mut self.pending));
            }
            self.agent.check_offers(Feature::Watch, "`files.watch()`").await?;
            self.target.check_user(&self.agent).await?;
            let is_extended = self.agent.offers(Feature::Watch).await?;
            let url = self.url(is_extended);
            loop {
                let was_connected = self.was_connected;
                let mut changes = Vec::new();
                for data in self.source.read(&url).await? {
                    changes.extend(self.take(read_json(OPERATION, data.as_bytes())?)?);
                }
                if self.was_connected && !was_connected {
                    self.pending = changes;
                    return Ok(Vec::new());
                }
                if !changes.is_empty() {
                    self.source.on_progress();
                    return Ok(changes);
                }
            }
        })
    }

    fn url(&self, is_extended: bool) -> String {
        let WatchOptions { is_recursive, ignore } = &self.options;
        let recursive = if *is_recursive { "true" } else { "false" };
        let mut parameters = vec![("recursive", recursive)];
        parameters.extend(ignore.iter().map(|pattern| ("ignorePatterns", &**pattern)));
        parameters.extend(is_extended.then_some(("extended", "true")));
        self.target.url("/api/v1/stream/directories/watcher", &parameters)
    }

    /// What an event of the agent's means.
    fn take(&mut self, event: WatcherEvent) -> Result<Vec<FileChange>> {
        let WatcherEvent { paths, kind, raw, message, .. } = event;
        let kind = match kind {
            WatcherEventType::Connected if !self.was_connected => {
                self.was_connected = true;
                return Ok(Vec::new());
            }
            WatcherEventType::Error => {
                let reason = message.unwrap_or_else(|| "the agent does not say why".to_owned());
                return Err(Error::WatchEnded { path: self.target.display(), reason }.into());
            }
            WatcherEventType::Connected | WatcherEventType::Overflow => FileChangeType::Overflow,
            WatcherEventType::Add => FileChangeType::Add,
            WatcherEventType::Change => FileChangeType::Change,
            WatcherEventType::Remove => FileChangeType::Remove,
            WatcherEventType::Rename => FileChangeType::Rename,
        };
        // An encoded path that has no percent sign is the same as text.
        let raw = |at: usize| raw.as_ref()?.get(at).filter(|raw| raw.contains('%')).cloned();
        let change = |at: usize, path: &String| FileChange {
            kind,
            path: path.clone(),
            to: None,
            raw: raw(at),
            raw_to: None,
        };
        if let (FileChangeType::Rename, [from, to]) = (kind, &*paths) {
            return Ok(vec![FileChange {
                to: Some(to.clone()),
                raw_to: raw(1),
                ..change(0, from)
            }]);
        }
        if kind == FileChangeType::Overflow && paths.is_empty() {
            return Ok(vec![change(0, &self.target.display())]);
        }
        Ok(paths.iter().enumerate().map(|(at, path)| change(at, path)).collect())
    }
}
