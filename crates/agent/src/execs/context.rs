use std::{path::PathBuf, sync::Arc, time::Duration};

use super::bookkeeping::Bookkeeping;
use crate::output::SpoolLimit;

/// What every exec of an agent needs of it.
#[derive(Debug)]
pub(super) struct ExecContext {
    /// The directory with a spool for each exec.
    pub(super) spools: PathBuf,
    pub(super) spool_limit: SpoolLimit,
    pub(super) output_silence: Duration,
    pub(super) bookkeeping: Arc<Bookkeeping>,
}
