//! The client's host under simulation.

use std::cell::RefCell;
use std::rc::Rc;

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, select};
use sandpipe_client::host::{HttpRequest, HttpResponse, NoResponse, Socket};
use sandpipe_client::output::Encoding;
use sandpipe_client::{Host, HostOutput, HostValue};
use sandpipe_text::Units;

use crate::executor::{Executor, Owner};
use crate::network::Network;
use crate::setup::Setup;

/// The host of a simulated client.
pub(crate) struct SimHost {
    executor: Executor,
    network: Rc<Network>,
    setup: Rc<Setup>,
    random: RefCell<fastrand::Rng>,
}

impl SimHost {
    pub(crate) fn new(executor: Executor, network: Rc<Network>, setup: Rc<Setup>) -> Self {
        let random = RefCell::new(fastrand::Rng::with_seed(setup.seed));
        Self { executor, network, setup, random }
    }
}

impl Host for SimHost {
    fn send(
        &self,
        request: HttpRequest,
    ) -> LocalBoxFuture<'static, Result<HttpResponse, NoResponse>> {
        self.network.clone().send(request).boxed_local()
    }

    fn open_socket(&self, url: &str) -> LocalBoxFuture<'static, Option<Box<dyn Socket>>> {
        self.network.clone().open_socket(url.to_owned()).boxed_local()
    }

    fn sleep(&self, ms: f64) -> LocalBoxFuture<'static, ()> {
        self.executor.sleep(ms * self.setup.timer_factor).boxed_local()
    }

    fn now_ms(&self) -> f64 {
        let now_ms = self.executor.now_ms();
        let jump = self.setup.jump.filter(|(at_ms, _)| *at_ms <= now_ms);
        now_ms + jump.map_or(0.0, |(_, by_ms)| by_ms)
    }

    /// A date is a number of milliseconds of the servers' clock here.
    fn ms_until(&self, http_date: &str) -> Option<f64> {
        let due_ms: f64 = http_date.strip_prefix("at ")?.parse().ok()?;
        Some((due_ms - self.executor.now_ms() - self.setup.clock_ahead_ms).max(0.0))
    }

    fn random_bytes(&self) -> [u8; 16] {
        self.random.borrow_mut().u128(..).to_le_bytes()
    }

    fn spawn(&self, task: LocalBoxFuture<'static, ()>) {
        self.executor.spawn(Owner::Client, task);
    }

    fn linger(&self, task: LocalBoxFuture<'static, ()>, limit_ms: u32) {
        let limit = self.executor.sleep(limit_ms.into());
        self.spawn(select(task, limit).map(drop).boxed_local());
    }

    fn append_text(&self, text: &HostOutput, more: Units<'_>) -> Result<HostOutput, HostValue> {
        let mut units = text_units(text).to_vec();
        match more {
            Units::Ascii(bytes) | Units::Latin1(bytes) => {
                units.extend(bytes.iter().copied().map(u16::from));
            }
            Units::Utf16(more) => units.extend(more),
        }
        let length = u32::try_from(units.len()).expect("less than the host allows");
        Ok(HostOutput::new(HostValue::new(units), length, Encoding::Utf8))
    }

    fn append_bytes(&self, bytes: &HostOutput, more: &[u8]) -> Result<HostOutput, HostValue> {
        let bytes = [bytes_of(bytes), more].concat();
        let length = u32::try_from(bytes.len()).expect("less than the host allows");
        Ok(HostOutput::new(HostValue::new(bytes), length, Encoding::Bytes))
    }

    fn max_text_length(&self) -> u32 {
        self.setup.max_text_length
    }

    fn max_range_bytes(&self) -> u64 {
        self.setup.max_range_bytes
    }
}

fn text_units(text: &HostOutput) -> &[u16] {
    let units = text.value().and_then(HostValue::downcast_ref::<Vec<u16>>);
    units.map_or(&[], Vec::as_slice)
}

/// Bytes that the host keeps.
pub(crate) fn bytes_of(bytes: &HostOutput) -> &[u8] {
    let bytes = bytes.value().and_then(HostValue::downcast_ref::<Vec<u8>>);
    bytes.map_or(&[], Vec::as_slice)
}

/// What a text says.
pub(crate) fn text_of(text: &HostOutput) -> String {
    String::from_utf16(text_units(text)).expect("whole characters")
}
