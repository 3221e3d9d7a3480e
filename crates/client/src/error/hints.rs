//! What a caller can do about an error.

use super::{Error, Refusal};

impl Error {
    /// What to do about it.
    pub(super) fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Http { max_delay_ms: Some(_), .. } => {
                "Call again then, or raise `retry.maxDelayMs`.".into()
            }
            Self::Http { status: 300..=399, .. } => {
                "If the agent is there, pass its address to connect() as `url`.".into()
            }
            Self::Http { status: 401, .. } => {
                "Pass the agent's token to connect() as `token`.".into()
            }
            Self::Http { status: 403, .. } => {
                "Use the agent's admin token: a read-only one may only look.".into()
            }
            Self::Http { status: 404, message: None, .. } | Self::Protocol { .. } => {
                "Check that the `url` given to connect() is an agent's, without /api.".into()
            }
            Self::Network { .. } => {
                "Check that the agent runs and that the `url` given to connect() is its address; \
                 in a browser also that the agent allows this page's origin (--allow-origin)."
                    .into()
            }
            Self::CreateUnknown { .. } => "Look for it with execs.list() before you run it \
                 again: it may run."
                .into(),
            Self::ExitCodeMissing { exec_id, .. } => {
                format!("Ask again with execs.wait(\"{exec_id}\").")
            }
            Self::OutputLost { .. } => {
                "Raise the agent's --spool-limit, or read the output while the command runs.".into()
            }
            Self::OutputLimit { exec_id, unstopped: None, .. } => {
                format!("Read it piece by piece with execs.streamOutput(\"{exec_id}\").")
            }
            Self::OutputLimit { exec_id, .. } => still_runs(exec_id),
            Self::Stopped(stopped) => match (&stopped.exec_id, &stopped.unstopped) {
                (Some(exec_id), Some(_)) => still_runs(exec_id),
                _ => return None,
            },
            Self::Session { .. } => "Make another with sessions.create().".into(),
            Self::NotFound { .. } => {
                "Look for it with list(): it may have been removed, or be in another \
                 `baseDir` or `workspace`."
                    .into()
            }
            Self::Background { refusal: Some(Refusal::Running), .. } => {
                "Stop it with terminate() first.".into()
            }
            Self::Background { refusal: Some(Refusal::Untrusted), .. } => {
                "Name a directory of your own as `baseDir`.".into()
            }
            Self::Closed => "Make another with connect().".into(),
            Self::Http { .. }
            | Self::StillThere(_)
            | Self::Unsupported { .. }
            | Self::InvalidArgument { .. }
            | Self::Background { .. }
            | Self::Thrown(_) => return None,
        };
        Some(hint)
    }
}

fn still_runs(exec_id: &str) -> String {
    format!("It may still run: stop it with execs.terminate(\"{exec_id}\").")
}
