use sandpipe_protocol::{ExecItem, ExecStdout};
use serde::{Deserialize, Serialize};

use super::idempotency::Creation;

/// What is kept of an exec on disk besides its output, so that an agent that starts again knows it.
///
/// The environment is not: it may hold secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// Its place in the order of creation.
    pub(super) number: u64,
    pub(super) item: ExecItem,
    /// The key that it was created with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) creation: Option<Creation>,
    /// The event with the exit code. Without it, the process had not ended when this was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_event: Option<ExecStdout>,
}
