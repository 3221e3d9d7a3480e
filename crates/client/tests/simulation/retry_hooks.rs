//! A caller's functions that have a say in what is tried again. Some take their time, some shorten a pause, some throw.

use std::cell::RefCell;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use sandpipe_client::http::{RetryContext, RetryDecision, RetryHooks};
use sandpipe_client::{Error, HostValue, Result};

use crate::executor::Executor;

/// What they throw.
#[derive(Debug)]
pub(crate) struct HookFailed;

pub(crate) struct SimHooks {
    pub(crate) executor: Executor,
    pub(crate) random: RefCell<fastrand::Rng>,
    pub(crate) may_throw: bool,
}

impl RetryHooks for SimHooks {
    fn should_retry(
        &self,
        failed: &RetryContext<'_>,
    ) -> Option<LocalBoxFuture<'static, Result<RetryDecision>>> {
        let mut random = self.random.borrow_mut();
        let decision = match random.u8(..8) {
            _ if !failed.will_retry => return None,
            0..=2 => return None,
            3 | 4 => Ok(RetryDecision::Yes),
            7 if self.may_throw => Err(Error::Thrown(HostValue::new(HookFailed)).into()),
            _ => Ok(RetryDecision::After(failed.delay_ms / 2.0)),
        };
        let deciding = self.executor.sleep(random.f64() * 50.0);
        Some(deciding.map(|()| decision).boxed_local())
    }

    fn on_retry(&self, _failed: &RetryContext<'_>) -> Option<LocalBoxFuture<'static, Result<()>>> {
        Some(self.executor.sleep(self.random.borrow_mut().f64()).map(Ok).boxed_local())
    }
}
