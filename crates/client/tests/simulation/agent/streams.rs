//! The event streams of a simulated agent.

use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;

use futures_util::future::{Either, ready, select};
use futures_util::{StreamExt, stream};
use sandpipe_protocol::{ExecItem, ExecListChanges, ExecListResponse};

use super::SimAgent;
use super::exec::{Exec, State};
use super::output_form::{OutputForm, comment, event};
use crate::network::Bytes;

/// The time between two comments that keep a stream without events alive, in milliseconds.
pub(super) const PING_INTERVAL_MS: f64 = 15_000.0;

/// The shortest time between two messages about the list, in milliseconds.
const LIST_INTERVAL_MS: f64 = 50.0;

impl SimAgent {
    /// The events of an output after `last`, behind the bytes that come `first`.
    pub(super) fn stream_output(
        &self,
        exec: Rc<Exec>,
        last: u64,
        form: OutputForm,
        first: Vec<u8>,
    ) -> Bytes {
        let (executor, tells_gaps) = (self.executor.clone(), self.setup.offers("gap"));
        let is_calm = self.setup.is_calm();
        let rest = stream::unfold(Some(last), move |last| {
            let (executor, exec) = (executor.clone(), exec.clone());
            async move {
                let last = last?;
                let next = pin!(exec.wait_for(|state| next_output(state, last, tells_gaps, form)));
                match select(next, executor.sleep(PING_INTERVAL_MS)).await {
                    // The exit code is the end, whatever follows it.
                    Either::Left((Some((mut bytes, None)), _)) if is_calm => {
                        bytes.extend_from_slice(form.nonsense());
                        Some((bytes, None))
                    }
                    Either::Left((next, _)) => next,
                    Either::Right(_) => Some((form.sign_of_life(last), Some(last))),
                }
            }
        });
        stream::once(ready(first)).chain(rest).boxed_local()
    }

    /// The list of all execs, now and whenever it changes.
    pub(super) fn stream_list(self: &Rc<Self>, wants_changes: bool) -> Bytes {
        let agent = self.clone();
        let rest = stream::unfold(None, move |mut known| {
            let agent = agent.clone();
            async move {
                let bytes = {
                    let find = || next_list(&agent, &mut known, wants_changes);
                    let next = pin!(agent.readers.until(find));
                    match select(next, agent.executor.sleep(PING_INTERVAL_MS)).await {
                        Either::Left((bytes, _)) => {
                            agent.executor.sleep(LIST_INTERVAL_MS).await;
                            bytes
                        }
                        Either::Right(_) => comment("ping"),
                    }
                };
                Some((bytes, known))
            }
        });
        stream::once(ready(comment("sandpipe"))).chain(rest).boxed_local()
    }
}

/// The next bytes of a stream, and the number of its last event: None once that has the exit code.
type NextBytes = (Vec<u8>, Option<u64>);

/// What comes after the event `last`. None where there is nothing yet; an inner None at the end.
#[expect(clippy::option_option, reason = "nothing yet is not the same as nothing any more")]
fn next_output(
    state: &State,
    last: u64,
    tells_gaps: bool,
    form: OutputForm,
) -> Option<Option<NextBytes>> {
    if state.is_deleted {
        return Some(None);
    }
    if let Some(gap) = state.gap_after(last).filter(|_| tells_gaps) {
        return Some(Some((form.gap(&gap), Some(gap.to))));
    }
    let events = state.events_after(last);
    let Some(newest) = events.last() else {
        let is_over = state.has_ended() && last >= state.events.len() as u64;
        return is_over.then_some(None);
    };
    let bytes = form.events_after(state, last);
    Some(Some((bytes, newest.exit_code.is_none().then_some(newest.sequence))))
}

/// What the list says to a reader who knows it as it was `known`; None where nothing is new.
fn next_list(
    agent: &SimAgent,
    known: &mut Option<BTreeMap<String, ExecItem>>,
    wants_changes: bool,
) -> Option<Vec<u8>> {
    let items = agent.items();
    let now: BTreeMap<_, _> = items.iter().map(|item| (item.id.clone(), item.clone())).collect();
    let before = known.replace(now.clone());
    match before {
        Some(before) if before == now => None,
        Some(before) if wants_changes => {
            let is_new = |item: &ExecItem| before.get(&item.id) != Some(item);
            let changed = items.into_iter().filter(is_new).collect();
            let removed = before.into_keys().filter(|id| !now.contains_key(id)).collect();
            Some(event("", &ExecListChanges { changed, removed }))
        }
        _ => Some(event("", &ExecListResponse { execs: items })),
    }
}
