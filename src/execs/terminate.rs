use std::pin::pin;

use js_sys::{Object, Promise, Reflect};
use wasm_bindgen::prelude::*;

use super::Execs;
use super::output_reader::OutputReader;
use super::signal::Target;
use super::sink::Drain;
use super::stop::stop;
use super::stop_requests::StopRequests;
use super::wait_options::grace;
use crate::arguments::{Fields, exec_id};
use crate::errors::thrown;
use crate::promise::promise;
use crate::request::ExecId;
use crate::transport::Transport;
use sandpipe_client::error::{Error, NotStopped, Result};
use sandpipe_client::execs::ladder::Trigger;

#[wasm_bindgen]
impl Execs {
    /// Stops an exec's process group and waits until it is gone. Resolves `{ exitCode, forced }`.
    pub fn terminate(&self, id: &JsValue, options: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, read_options(options)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, (grace_ms, mut requests)) = arguments?;
            let (exit_code, forced) = terminate(&transport, &id, grace_ms, &mut requests).await?;
            let result = Object::new();
            let set = |name: &str, value: JsValue| {
                Reflect::set(&result, &name.into(), &value).map_err(thrown)
            };
            set("exitCode", exit_code.into())?;
            set("forced", forced.into())?;
            Ok(result.into())
        })
    }
}

fn read_options(value: &JsValue) -> Result<(f64, StopRequests)> {
    let fields = Fields::of_optional(value, "options")?;
    fields.only(&["graceMs", "forceSignal"])?;
    Ok((grace(&fields)?, StopRequests::read(&fields)?))
}

/// Gives the exit code, and whether it took SIGKILL.
async fn terminate(
    transport: &Transport,
    id: &ExecId,
    grace_ms: f64,
    requests: &mut StopRequests,
) -> Result<(i32, bool)> {
    let target = Target::new(id);
    // The newest event and what follows: the exit code is in the last one.
    let mut reader = OutputReader::new(transport.clone(), id.clone(), -1);
    let mut drained = Ok(());
    let first = requests.made_before().map_or(Trigger::Stop, |request| request.trigger);
    let outcome = {
        let ended = pin!(async { drained = drain(&mut reader).await });
        stop(transport, &target, first, grace_ms, requests, ended).await
    };
    match outcome.unstopped {
        Some(NotStopped::Undelivered(error)) => return Err(error),
        Some(NotStopped::StillThere) => {
            return Err(Error::StillThere(id.as_str().to_owned()).into());
        }
        None if outcome.never_ran => return Err(target.gone()),
        None => {}
    }
    if let Err(lost) = drained {
        if !matches!(*lost, Error::ExitCodeMissing { .. }) {
            return Err(lost);
        }
        // The agent may have been away for longer than a stream is asked for. It is there again: it said
        // that nothing is left.
        reader = OutputReader::new(transport.clone(), id.clone(), -1);
        drain(&mut reader).await.map_err(|_| lost)?;
    }
    let exit_code = reader.exit_code().ok_or_else(|| reader.exit_code_missing(None))?;
    Ok((exit_code, outcome.forced))
}

/// Reads up to the exit code and keeps nothing: what the agent has lost meanwhile does not matter.
pub(crate) async fn drain(reader: &mut OutputReader) -> Result<()> {
    loop {
        match reader.read_into(&mut Drain).await {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => match *error {
                Error::OutputLost { .. } => reader.skip_to_newest(),
                _ => return Err(error),
            },
        }
    }
}
