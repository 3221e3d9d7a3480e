use std::io;

use nix::sys::signal::Signal;
use sandpipe_protocol::ExecStatus;

use super::{exec::Exec, stop_reason::StopReason};
use crate::sandbox::{Reached, stops};

/// Why a signal was not sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SignalError {
    #[error(
        "there is no signal {0:?}: give a name like \"SIGTERM\" or \"TERM\", or \"0\" to ask whether \
         a process is left"
    )]
    Unknown(String),
    #[error("exec {0} has not been started: there is no process to signal")]
    NotStarted(String),
    #[error("exec {0} has ended and no process of it is left")]
    Gone(String),
    #[error("the agent may not signal the processes of exec {id}: {error}")]
    Refused { id: String, error: io::Error },
}

impl Exec {
    /// Sends a signal to the whole process group, also where only its leader has exited.
    pub(crate) async fn signal(&self, name: &str) -> Result<(), SignalError> {
        let sent = parse(name).ok_or_else(|| SignalError::Unknown(name.into()))?;
        let signal = match sent {
            SignalToSend::Null => None,
            SignalToSend::Signal(signal) => Some(signal),
        };
        let (status, group) = {
            let state = self.state();
            (state.status.clone(), state.group.clone())
        };
        if status == ExecStatus::Created {
            return Err(SignalError::NotStarted(self.id.clone()));
        }
        let Some(group) = group else {
            return Err(SignalError::Gone(self.id.clone()));
        };
        let is_stop = signal.is_some_and(stops);
        if is_stop {
            // Its end, which may come in between, tells of it.
            self.set_stop_reason(StopReason::Client);
        }
        // A process that is stopped, as by Ctrl+Z, acts on SIGTERM only when it goes on.
        let sent = match signal {
            None => group.probe().await,
            Some(Signal::SIGTERM) => group.signal(&[Signal::SIGTERM, Signal::SIGCONT]).await,
            Some(signal) => group.signal(&[signal]).await,
        };
        let refused = |error| SignalError::Refused { id: self.id.clone(), error };
        let sent = sent.map_err(refused).and_then(|reached| match reached {
            Reached::Members => Ok(()),
            Reached::Nobody => Err(SignalError::Gone(self.id.clone())),
        });
        if sent.is_err() && is_stop {
            self.take_back_stop_reason(StopReason::Client);
        }
        sent?;
        // An end that it brings about may have come in between: that end knows of it by the group.
        if is_stop {
            self.set_stopping(StopReason::Client);
        }
        Ok(())
    }
}

/// What can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SignalToSend {
    /// Nothing: it only asks whether a process is left (POSIX, `kill`, "the null signal").
    Null,
    Signal(Signal),
}

/// Reads a signal's name with or without `SIG`, in any case (POSIX, `kill`, -s), or `0` for the null
/// signal.
pub(super) fn parse(name: &str) -> Option<SignalToSend> {
    if name == "0" {
        return Some(SignalToSend::Null);
    }
    let upper = name.to_ascii_uppercase();
    let short = upper.strip_prefix("SIG").unwrap_or(&upper);
    // signal(7): other names of the same signals.
    let short = match short {
        "CLD" => "CHLD",
        "IOT" => "ABRT",
        "POLL" => "IO",
        short => short,
    };
    format!("SIG{short}").parse().ok().map(SignalToSend::Signal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_has_several_spellings() {
        for (name, signal) in [
            ("SIGTERM", Signal::SIGTERM),
            ("TERM", Signal::SIGTERM),
            ("sigterm", Signal::SIGTERM),
            ("KILL", Signal::SIGKILL),
            ("SIGUSR1", Signal::SIGUSR1),
            ("WINCH", Signal::SIGWINCH),
            ("SIGPOLL", Signal::SIGIO),
        ] {
            assert_eq!(parse(name), Some(SignalToSend::Signal(signal)), "{name}");
        }
        assert_eq!(parse("0"), Some(SignalToSend::Null));
        for name in ["", "SIG", "NONSENSE", "SIGSIGTERM", "15", "SIG0", " TERM"] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
