use std::{io, ops::RangeInclusive, sync::Arc, time::Duration};

use axum::{Extension, body::Bytes, extract::State, response::Response};
use sandpipe_protocol::{ExecListChanges, ExecListResponse, sse::encode_event};
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{list_json::ListJson, responses::ApiErrors};
use crate::{
    execs::{Registry, Update},
    features::Feature,
    http::{
        App,
        body::Query,
        error::ApiError,
        event_stream::{self, Source},
        output_format::OutputFormat,
    },
    tokens::Access,
};

/// How often a reader gets the whole list, at most. A change after a longer time comes at once.
const LIST_INTERVAL: Duration = Duration::from_millis(250);
/// How often a reader is told of changes, at most.
const CHANGES_INTERVAL: Duration = Duration::from_millis(50);
/// How often a reader may ask for signs of life, at most and at least.
const HEARTBEAT: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(15);

/// Stream the list of all execs as Server-Sent Events: at once, and whenever it changes, but no more than some
/// times a second.
///
/// With the feature `list-changes` and `?changes=true` only the first event has the list; those after it have
/// what has changed since: an `ExecListChanges`. A reader that is far behind gets the list anew.
///
/// With the feature `heartbeat` and `?heartbeat=N` a comment comes wherever there was silence for N milliseconds.
#[utoipa::path(
    get,
    path = "/api/v1/stream/execs",
    operation_id = "StreamExecsList",
    tag = "execs",
    params(
        (
            "changes" = Option<bool>, Query,
            description = "Whether to send what has changed in place of the whole list each time"
        ),
        (
            "heartbeat" = Option<u64>, Query,
            description = "How long there may be silence, in milliseconds: from 100 to 15000, which it is without it"
        ),
    ),
    responses(
        (
            status = 200, description = "The lists, and the changes where they are asked for",
            content((ListEvent = "text/event-stream"))
        ),
        ApiErrors,
    )
)]
pub(crate) async fn stream_execs_list(
    State(app): State<App>,
    Extension(access): Extension<Access>,
    query: Query,
) -> Result<Response, ApiError> {
    // An agent without the feature knows no such parameter.
    let wants_changes =
        app.features.has(Feature::ListChanges) && query.flag("changes")?.unwrap_or(false);
    let ping_interval =
        match query.get("heartbeat").filter(|_| app.features.has(Feature::Heartbeat)) {
            Some(text) => heartbeat(text)?,
            None => app.ping_interval,
        };
    let format = OutputFormat::Events;
    Ok(event_stream::respond(
        ping_interval,
        format,
        format.beginning(),
        ListStream {
            newest: app.registry.watch(),
            registry: app.registry,
            access,
            wants_changes,
            sending: None,
            known: None,
            next: Instant::now(),
            over: app.over,
        },
    ))
}

/// How long there may be silence.
fn heartbeat(text: &str) -> Result<Duration, ApiError> {
    let interval = text.parse().ok().map(Duration::from_millis);
    interval.filter(|interval| HEARTBEAT.contains(interval)).ok_or_else(|| {
        ApiError::bad_request(format!(
            "heartbeat is {text:?}: it is a number of milliseconds, from {} to {}",
            HEARTBEAT.start().as_millis(),
            HEARTBEAT.end().as_millis(),
        ))
    })
}

/// An event of the list's stream.
#[derive(utoipa::ToSchema)]
#[schema(as = ExecListEvent)]
#[serde(untagged)]
#[allow(dead_code)]
pub(crate) enum ListEvent {
    List(ExecListResponse),
    Changes(ExecListChanges),
}

struct ListStream {
    registry: Arc<Registry>,
    access: Access,
    /// The number of the newest change.
    newest: watch::Receiver<u64>,
    wants_changes: bool,
    /// The list, when a part of it has been sent.
    sending: Option<ListJson>,
    /// The number of the change up to which the client knows all; None before it knows any list. Whatever
    /// happens while it does not read, this is all that is remembered for it.
    known: Option<u64>,
    /// When the next event may be sent.
    next: Instant,
    over: watch::Receiver<bool>,
}

impl Source for ListStream {
    async fn next(&mut self) -> io::Result<Option<Bytes>> {
        if let Some(list) = &mut self.sending {
            let mut bytes = list.next()?.unwrap_or_default();
            if list.is_done() {
                self.sending = None;
                bytes.extend_from_slice(END);
            }
            return Ok(Some(bytes.into()));
        }
        loop {
            let newest = *self.newest.borrow_and_update();
            if self.known == Some(newest) {
                tokio::select! {
                    // The last change is told before the end.
                    biased;
                    changed = self.newest.changed() => if changed.is_err() {
                        return Ok(None);
                    },
                    _ = self.over.wait_for(|over| *over) => return Ok(None),
                }
                continue;
            }
            tokio::select! {
                () = sleep_until(self.next) => {}
                _ = self.over.wait_for(|over| *over) => {}
            }
            if let Some(bytes) = self.take_event()? {
                return Ok(Some(bytes.into()));
            }
        }
    }
}

/// What is before the JSON of an event, and behind it. JSON has no line ends.
const DATA: &[u8] = b"data: ";
const END: &[u8] = b"\n\n";

impl ListStream {
    /// The beginning of the next event; None where nothing is to be told.
    fn take_event(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(known) = self.known.as_mut().filter(|_| self.wants_changes) {
            self.next = Instant::now() + CHANGES_INTERVAL;
            if let Update::Changes { mut changed, mut removed } = self.registry.changes_since(known)
            {
                changed.retain(|exec| self.access.reads(exec.named()));
                removed.retain(|exec| self.access.reads(exec.named()));
                if changed.is_empty() && removed.is_empty() {
                    return Ok(None);
                }
                let changed = changed.iter().map(|exec| exec.listed_item()).collect();
                let removed = removed.into_iter().map(|exec| exec.id).collect();
                let json = serde_json::to_string(&ExecListChanges { changed, removed })?;
                let mut event = Vec::new();
                encode_event(&mut event, "", &json);
                return Ok(Some(event));
            }
        } else {
            self.next = Instant::now() + LIST_INTERVAL;
        }
        // Before the list: what changes while it is sent is told after it.
        self.known = Some(*self.newest.borrow_and_update());
        let mut list = ListJson::new(Arc::clone(&self.registry), self.access.clone());
        let mut event = DATA.to_vec();
        event.extend(list.next()?.unwrap_or_default());
        if list.is_done() {
            event.extend_from_slice(END);
        } else {
            self.sending = Some(list);
        }
        Ok(Some(event))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use sandpipe_protocol::{CreateExecRequest, ExecItem, sse::Decoder};

    use super::*;
    use crate::{
        execs::{Created, Exec},
        state_dir::Keep,
    };

    async fn create(registry: &Arc<Registry>) -> Arc<Exec> {
        let request = CreateExecRequest {
            command: "true".into(),
            autostart: Some(false),
            ..CreateExecRequest::default()
        };
        let Created::New(exec) = registry.create(request, None, None).await.unwrap() else {
            panic!("it has no key");
        };
        exec
    }

    /// The list as a reader has it after the next event, and whether that was the whole list.
    async fn next(lists: &mut ListStream, known: &mut BTreeMap<String, ExecItem>) -> bool {
        let mut text = Vec::new();
        while !text.ends_with(END) {
            text.extend(lists.next().await.unwrap().expect("it goes on"));
        }
        let mut data = String::new();
        Decoder::default().feed(&text, &mut |event| data = event.text().into_owned()).unwrap();
        let by_id = |execs: Vec<ExecItem>| execs.into_iter().map(|exec| (exec.id.clone(), exec));
        if let Ok(ExecListResponse { execs }) = serde_json::from_str(&data) {
            *known = by_id(execs).collect();
            return true;
        }
        let ExecListChanges { changed, removed } = serde_json::from_str(&data).unwrap();
        known.extend(by_id(changed));
        known.retain(|id, _| !removed.contains(id));
        false
    }

    #[tokio::test]
    async fn a_reader_that_is_far_behind_gets_the_whole_list_anew() {
        let registry = Arc::new(Registry::for_test("/nowhere".as_ref(), Keep::Nothing));
        let mut execs = Vec::new();
        // More than a page of the list.
        for _ in 0..300 {
            execs.push(create(&registry).await);
        }
        let (_over, over) = watch::channel(false);
        let mut lists = ListStream {
            newest: registry.watch(),
            registry: Arc::clone(&registry),
            access: Access::Admin,
            wants_changes: true,
            sending: None,
            known: None,
            next: Instant::now(),
            over,
        };
        let mut known = BTreeMap::new();
        let list = || {
            let mut cursor = crate::execs::Cursor::first();
            let mut items = BTreeMap::new();
            while !cursor.is_last() {
                let page = registry.next_page(&mut cursor);
                items.extend(page.iter().map(|exec| (exec.listed_item().id, exec.listed_item())));
            }
            items
        };
        assert!(next(&mut lists, &mut known).await);
        assert_eq!((known.len(), &known), (300, &list()));
        registry.delete(&execs[7]).await.unwrap();
        assert!(!next(&mut lists, &mut known).await);
        assert_eq!((known.len(), &known), (299, &list()));
        registry.delete(&execs[8]).await.unwrap();
        // More than is remembered.
        for _ in 0..10_000 {
            execs[9].changed();
        }
        assert!(next(&mut lists, &mut known).await);
        assert_eq!((known.len(), &known), (298, &list()));
        create(&registry).await;
        assert!(!next(&mut lists, &mut known).await);
        assert_eq!((known.len(), &known), (299, &list()));
    }
}
