//! Waiting for a port that is listened on.

use std::future::pending;
use std::pin::pin;

use futures_util::future::{Either, select};
use sandpipe_protocol::PortInfo;

use super::PortStream;
use crate::error::NotReady;
use crate::execs::OutputReader;
use crate::output::LastOutput;
use crate::{Agent, Call, Error, ExecId, Result, WaitLimits};

/// How many events from the end of an exec's output are read to tell how it ended.
const LAST_EVENTS: i64 = 20;

/// How to wait for a port.
pub struct WaitForPortOptions {
    /// When to give up.
    pub limits: WaitLimits,
    /// The exec that is to listen: its end is the end of the wait.
    pub exec: Option<ExecId>,
}

/// Waits for a port that is listened on, at whatever address. One that is already is given at once.
///
/// # Errors
/// [`Error::NotReady`] where the exec ends first, [`Error::WaitTimedOut`], and the reason of the signal.
pub fn wait_for(agent: &Agent, port: u16, options: WaitForPortOptions) -> Call<PortInfo> {
    let agent = agent.clone();
    let WaitForPortOptions { limits, exec } = options;
    let end = limits.end(&**agent.http.host());
    Box::pin(async move {
        let found = find(PortStream::new(agent.clone()), port);
        let failed = async {
            match &exec {
                Some(id) => exec_end(&agent, id, port).await,
                None => pending().await,
            }
        };
        match select(pin!(found), select(pin!(failed), end)).await {
            Either::Left((found, _)) => found,
            Either::Right((Either::Left((ended, _)), _)) => Err(ended),
            Either::Right((Either::Right((end, _)), _)) => {
                Err(end.into_error(|milliseconds| Error::WaitTimedOut {
                    waited_for: format!("port {port}"),
                    milliseconds,
                    exec_id: exec.as_ref().map(|id| id.as_str().to_owned()),
                    output: crate::HostOutput::default(),
                }))
            }
        }
    })
}

async fn find(mut ports: PortStream, port: u16) -> Result<PortInfo> {
    loop {
        let list = ports.next_list().await?;
        if let Some(found) = list.ports.into_iter().find(|listed| listed.port == port) {
            return Ok(found);
        }
    }
}

/// Resolves when an exec has ended, with the error that this is.
async fn exec_end(agent: &Agent, id: &ExecId, port: u16) -> Box<Error> {
    let mut reader = OutputReader::new(agent.clone(), id.clone(), -LAST_EVENTS);
    let mut last = LastOutput::default();
    loop {
        match reader.read().await {
            Ok(Some(events)) => events.iter().for_each(|event| last.push(&event.output)),
            Ok(None) => break,
            Err(error) => match *error {
                Error::OutputLost { to, .. } => reader.skip_lost(to),
                _ => return error,
            },
        }
    }
    Box::new(Error::NotReady(NotReady {
        subject: format!("exec {}", id.as_str()),
        waited_for: format!("port {port} was listened on"),
        exec_id: Some(id.as_str().to_owned()),
        id: None,
        exit_code: reader.exit_code(),
        output: last.to_host(&**agent.http.host()),
        last_line: last.line(),
    }))
}
