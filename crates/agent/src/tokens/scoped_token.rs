use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use super::{Scopes, lifetime::Lifetime};

/// Longest time between two looks at the wall clock.
const CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// The id of a scoped token. It is no secret.
pub(crate) type TokenId = Arc<str>;

/// A token that was made by the admin token. The token itself is not kept.
pub(crate) struct ScopedToken {
    pub(crate) id: TokenId,
    hash: [u8; 32],
    pub(crate) scopes: Scopes,
    pub(crate) created_at: SystemTime,
    lifetime: Lifetime,
    revoked: watch::Sender<bool>,
}

impl ScopedToken {
    pub(super) fn new(id: TokenId, token: &str, scopes: Scopes, lifetime: Duration) -> Self {
        let created_at = SystemTime::now();
        Self {
            id,
            hash: hash(token),
            scopes,
            created_at,
            lifetime: Lifetime::new(lifetime, created_at, Instant::now()),
            revoked: watch::Sender::new(false),
        }
    }

    /// Returns whether this is the token. It takes as long for a wrong one.
    pub(super) fn is(&self, hash: &[u8; 32]) -> bool {
        self.hash.ct_eq(hash).into()
    }

    pub(crate) fn expires_at(&self) -> SystemTime {
        self.lifetime.expires_at
    }

    /// Returns whether it has neither expired nor been revoked.
    pub(crate) fn is_valid(&self) -> bool {
        !*self.revoked.borrow() && !self.rest().is_zero()
    }

    pub(super) fn revoke(&self) {
        self.revoked.send_replace(true);
    }

    /// Waits until it has expired or was revoked.
    pub(crate) async fn ended(&self) {
        let mut revoked = self.revoked.subscribe();
        while self.is_valid() {
            tokio::select! {
                _ = revoked.changed() => {}
                () = sleep(self.rest().min(CHECK_INTERVAL)) => {}
            }
        }
    }

    fn rest(&self) -> Duration {
        self.lifetime.rest(SystemTime::now(), Instant::now())
    }
}

/// A hash is no token, and is not shown either.
impl fmt::Debug for ScopedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedToken").field("id", &self.id).finish_non_exhaustive()
    }
}

pub(super) fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
