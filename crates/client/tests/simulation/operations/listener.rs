//! A caller's function for output, which may throw.

use std::cell::RefCell;
use std::rc::Rc;

use sandpipe_client::output::{Event, OutputSink};
use sandpipe_client::{Error, HostValue, Result};
use sandpipe_protocol::ExecStdout;

use crate::agent::exec::Exec;
use crate::invariants::{Outcome, ensure};
use crate::world::World;

/// What the function throws.
#[derive(Debug)]
struct ListenerFailed;

/// What the function has been called with.
#[derive(Clone)]
pub(super) struct Heard {
    text: Rc<RefCell<String>>,
    /// It throws when it has heard more bytes than these.
    max_bytes: usize,
}

struct Listener {
    heard: Heard,
    /// What came together.
    events: Vec<ExecStdout>,
}

impl Heard {
    pub(super) fn of(world: &World, random: &mut fastrand::Rng) -> Self {
        let max_bytes = world.maybe((random.u8(..4) == 0).then(|| random.usize(..100)));
        Self { text: Rc::default(), max_bytes: max_bytes.unwrap_or(usize::MAX) }
    }

    pub(super) fn listener(&self) -> Box<dyn OutputSink> {
        Box::new(Listener { heard: self.clone(), events: Vec::new() })
    }

    fn has_thrown(&self) -> bool {
        self.text.borrow().len() > self.max_bytes
    }

    /// Each byte comes once, in order, and what the function throws is what the call ends with: then it is true.
    pub(super) fn has_decided(
        &self,
        exec: Option<&Exec>,
        outcome: &Outcome,
    ) -> std::result::Result<bool, String> {
        let (text, wrote) = (self.text.borrow(), exec.map(Exec::output).unwrap_or_default());
        ensure!(wrote.starts_with(&*text), "the listener has {text:?} of {wrote:?}");
        ensure!(outcome.is_err() || *text == wrote, "the listener has but {text:?} of {wrote:?}");
        let is_thrown = matches!(outcome.as_ref().map_err(|error| &**error),
            Err(Error::Thrown(cause)) if cause.downcast_ref::<ListenerFailed>().is_some());
        // What is stopped already says so.
        let is_stopped =
            matches!(outcome.as_ref().map_err(|error| &**error), Err(Error::Stopped(_)));
        let is_expected = is_thrown == self.has_thrown() || is_stopped;
        ensure!(is_expected, "what the listener throws: {outcome:?}");
        Ok(is_thrown)
    }
}

impl OutputSink for Listener {
    fn take(&mut self, event: &Event<'_>) {
        OutputSink::take(&mut self.events, event);
    }

    fn flush(&mut self) -> Result<()> {
        assert!(!self.heard.has_thrown(), "the listener is called after it has thrown");
        let text = self.events.drain(..).map(|event| event.output);
        self.heard.text.borrow_mut().extend(text);
        if self.heard.has_thrown() {
            return Err(Error::Thrown(HostValue::new(ListenerFailed)).into());
        }
        Ok(())
    }
}
