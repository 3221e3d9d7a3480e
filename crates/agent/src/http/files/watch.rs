use std::io;

use axum::{body::Bytes, extract::State, response::Response};
use sandpipe_protocol::{WatcherEvent, sse::encode_event};
use tokio::sync::watch;

use super::{
    responses::{NoFile, TooManyWatches},
    target::Target,
};
use crate::{
    files::{WatchOptions, WatchedDirectory},
    http::{
        App,
        body::Query,
        error::ApiError,
        event_stream::{self, Source},
        execs::responses::{ApiErrors, Failed},
        output_format::OutputFormat,
    },
    ignore_patterns::{IgnorePatterns, InvalidPattern},
};

/// Watch a directory: what changes in it is told as Server-Sent Events, first that it is watched (`connected`).
///
/// `paths` are absolute. `ADD` is told of what is new, and of all that is in a directory that appears; `CHANGE` of a file that was written
/// to or has other attributes; `REMOVE` of what is gone. Symbolic links are told of and not followed. After an `error` event, which has a
/// `message`, nothing more is told: the directory is gone, or can't be watched any longer.
///
/// With `extended`, something that has got another name in it is told as one `RENAME`, with the old and the new path, and not as `REMOVE`
/// and `ADD`; where events were lost, since they came faster than they were read, an `OVERFLOW` says so and the stream goes on, and not an
/// `error`: whoever looks at the directory then has missed nothing.
#[utoipa::path(
    get,
    path = "/api/v1/stream/directories/watcher/{path}",
    operation_id = "watchDirectory",
    tag = "directories",
    params(
        ("path" = String, Path, description = "Absolute where it begins with a slash, else relative to the workspace"),
        ("recursive" = Option<bool>, Query, description = "Whether also what is in directories below it is watched"),
        (
            "ignorePatterns" = Option<Vec<String>>, Query,
            description = "What is not watched: paths relative to the directory, with `*` for any part of one name and `**` for any \
                           number of directories; one without `/` is for a name at any depth"
        ),
        ("extended" = Option<bool>, Query, description = "Whether renames and lost events are told as such"),
        ("user" = Option<String>, Query, description = "Whose rights it is done with, as of a create (`files-raw`)")
    ),
    responses(
        (
            status = 200, description = "What happens",
            content((WatcherEvent = "text/event-stream"))
        ),
        ApiErrors, NoFile, Failed, TooManyWatches,
    )
)]
pub(super) async fn watch_directory(
    State(app): State<App>,
    target: Target,
    query: Query,
) -> Result<Response, ApiError> {
    let options = WatchOptions {
        recursive: query.flag("recursive")?.unwrap_or(false),
        ignore: IgnorePatterns::new(query.all("ignorePatterns"))?,
        extended: query.flag("extended")?.unwrap_or(false),
    };
    let directory = app.files.watch(target.user.as_ref(), &target.path, options).await?;
    let mut first = Vec::new();
    encode(&mut first, &directory.connected()).map_err(ApiError::internal)?;
    let source = WatchSource { directory, over: app.over };
    let format = OutputFormat::Events;
    Ok(event_stream::respond(app.ping_interval, format, first.into(), source))
}

struct WatchSource {
    directory: WatchedDirectory,
    over: watch::Receiver<bool>,
}

impl Source for WatchSource {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        let events = tokio::select! {
            events = self.directory.next() => events,
            _ = self.over.wait_for(|over| *over) => None,
        };
        let Some(events) = events else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        for event in &events {
            encode(&mut bytes, event)?;
        }
        Ok(Some(bytes.into()))
    }
}

fn encode(bytes: &mut Vec<u8>, event: &WatcherEvent) -> serde_json::Result<()> {
    encode_event(bytes, "", &serde_json::to_string(event)?);
    Ok(())
}

impl From<InvalidPattern> for ApiError {
    fn from(error: InvalidPattern) -> Self {
        Self::bad_request(error.to_string())
    }
}
