use std::{io, sync::Arc};

use axum::{extract::State, response::Response};
use sandpipe_protocol::{ExecListResponse, sse::encode_event};
use tokio::sync::watch;

use super::responses::ApiErrors;
use crate::{
    execs::Registry,
    http::{
        App,
        event_stream::{self, Source},
    },
};

/// Stream the list of all execs as Server-Sent Events: at once, and whenever it changes.
#[utoipa::path(
    get,
    path = "/api/v1/stream/execs",
    operation_id = "StreamExecsList",
    tag = "execs",
    responses(
        (
            status = 200, description = "The lists", body = ExecListResponse,
            content_type = "text/event-stream"
        ),
        ApiErrors,
    )
)]
pub(crate) async fn stream_execs_list(State(app): State<App>) -> Response {
    let mut changes = app.registry.watch();
    changes.mark_changed();
    event_stream::respond(Lists { registry: app.registry, changes, over: app.over })
}

struct Lists {
    registry: Arc<Registry>,
    changes: watch::Receiver<()>,
    over: watch::Receiver<bool>,
}

impl Source for Lists {
    /// A client that reads slowly skips lists: it gets the newest when it is ready for one.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        tokio::select! {
            // The last change is told before the end.
            biased;
            changed = self.changes.changed() => if changed.is_err() {
                return Ok(None);
            },
            _ = self.over.wait_for(|over| *over) => return Ok(None),
        }
        let json = serde_json::to_string(&self.registry.list())?;
        let mut event = Vec::new();
        encode_event(&mut event, "", &json);
        Ok(Some(event))
    }
}
