use std::{io, sync::Arc};

use nix::sys::signal::Signal;
use sandpipe_protocol::ExecStatus;

use super::exec::Exec;
use crate::process::{Group, Reached, stops};

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
    /// Sends a signal to the whole process group, also where only its leader has exited. It is sent also where
    /// the future is dropped.
    pub(crate) async fn signal(self: &Arc<Self>, name: &str) -> Result<(), SignalError> {
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
        let exec = Arc::clone(self);
        let sent = group.with(move |group| exec.send(group, signal)).await;
        let refused = |error| SignalError::Refused { id: self.id.clone(), error };
        if sent.unwrap_or_else(|not_run| Err(not_run.into())).map_err(refused)? == Reached::Nobody {
            return Err(SignalError::Gone(self.id.clone()));
        }
        Ok(())
    }

    /// Sends a signal, and says so in the status. An end that it brings about may come between the two: that
    /// end knows of it by the group.
    fn send(&self, group: &Group, signal: Option<Signal>) -> io::Result<Reached> {
        let reached = group.signal(signal)?;
        if reached == Reached::Nobody {
            return Ok(reached);
        }
        if signal == Some(Signal::SIGTERM) {
            // A process that is stopped, as by Ctrl+Z, acts on it only when it goes on.
            group.signal(Signal::SIGCONT)?;
        }
        if signal.is_some_and(stops) {
            self.set_stopping();
        }
        Ok(reached)
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
    use std::{sync::mpsc, thread, time::Duration};

    use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
    use tokio::time::{sleep, timeout};

    use super::*;
    use crate::{execs::observe::tests::running, process::open_processes};

    #[tokio::test]
    async fn a_search_for_members_of_a_session_holds_up_nobody_else() {
        let directory = tempfile::tempdir().unwrap();
        let (_registry, exec, process) = running(&directory, "exec sleep 300", true);
        let (held, is_held) = mpsc::channel();
        let (release, released) = mpsc::channel();
        let searching = thread::spawn(move || {
            let _processes = open_processes().unwrap().lock().unwrap();
            held.send(()).unwrap();
            released.recv_timeout(Duration::from_secs(30))
        });
        is_held.recv().unwrap();
        let signalling = Arc::clone(&exec);
        let signalled = tokio::spawn(async move { signalling.signal("SIGTERM").await });
        // The group is signalled before its session, which has to wait.
        let ended = async {
            let leader = process.group.id();
            while waitpid(leader, Some(WaitPidFlag::WNOHANG)).unwrap() == WaitStatus::StillAlive {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_mins(1), ended).await.unwrap();
        // Its end comes before it is told that it was to be stopped.
        assert_eq!(exec.item().status, ExecStatus::Running);
        exec.end(143);
        assert_eq!(exec.item().status, ExecStatus::Stopped);
        assert!(!signalled.is_finished());
        release.send(()).unwrap();
        assert_eq!(searching.join().unwrap(), Ok(()), "the runtime waited for the search");
        signalled.await.unwrap().unwrap();
    }

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
