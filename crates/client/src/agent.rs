//! What every operation has of its agent.

use futures_util::future::LocalBoxFuture;

use crate::features::Features;
use crate::http::HttpClient;
use crate::{Feature, Result};

/// An agent: how to reach it, and what it offers. Clones share their state.
#[derive(Clone, Debug)]
pub struct Agent {
    /// Sends the requests.
    pub(crate) http: HttpClient,
    features: Features,
}

impl Agent {
    /// The agent of an HTTP client. Nothing is asked yet.
    pub fn new(http: HttpClient) -> Self {
        Self { http, features: Features::default() }
    }

    /// The same agent for something that can be closed by itself.
    pub fn child(&self) -> Self {
        Self { http: self.http.child(), features: self.features.clone() }
    }

    /// The same agent for what is still to be done when all else has been closed.
    pub(crate) fn detached(&self) -> Self {
        Self { http: self.http.detached(), features: self.features.clone() }
    }

    /// Ends all that is under way and refuses what comes after.
    pub fn close(&self) {
        self.http.close();
    }

    /// Whether the agent offers an extension.
    pub(crate) fn offers(&self, feature: Feature) -> LocalBoxFuture<'_, Result<bool>> {
        Box::pin(self.features.offers(feature, &self.http))
    }

    /// Whether it is known that an agent is there.
    pub(crate) fn was_seen(&self) -> bool {
        self.features.was_seen()
    }
}
