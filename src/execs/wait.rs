use std::future::{Future, pending};
use std::pin::{Pin, pin};

use futures_util::future::{Either, select};
use js_sys::{Function, Promise};
use sandpipe_protocol::OutputEvent;
use wasm_bindgen::prelude::*;

use super::Execs;
use super::event_list::EventList;
use super::output_reader::OutputReader;
use super::signal::Target;
use super::sink::Sink;
use super::stop::stop;
use super::stop_requests::StopRequest;
use super::terminate::drain;
use super::transcript::Transcript;
use super::wait_options::WaitOptions;
use crate::arguments::exec_id;
use crate::promise::promise;
use crate::transport::Transport;
use sandpipe_client::error::{Error, OutputLimit, Result, Stopped};
use sandpipe_client::execs::ladder::Trigger;

#[wasm_bindgen]
impl Execs {
    /// Follows an exec that exists to its end. Resolves `{ exitCode, output }`.
    pub fn wait(&self, id: &JsValue, options: &JsValue) -> Promise {
        let arguments = exec_id(id).and_then(|id| Ok((id, WaitOptions::of(options)?)));
        let transport = self.transport.clone();
        promise(async move {
            let (id, options) = arguments?;
            let reader = OutputReader::new(transport.clone(), id, 0);
            wait(&transport, reader, options, pin!(pending())).await
        })
    }
}

/// Follows an exec from its first event to its end; stops it when the options ask for that, or `asked` does.
pub(crate) async fn wait(
    transport: &Transport,
    mut reader: OutputReader,
    options: WaitOptions,
    asked: Pin<&mut dyn Future<Output = StopRequest>>,
) -> Result<JsValue> {
    let WaitOptions { on_output, max_output_bytes, grace_ms, mut stops } = options;
    let id = &reader.id().clone();
    let target = Target::new(id);
    let mut record = Record {
        transcript: Transcript::new(id, max_output_bytes),
        listener: on_output.map(|function| (function, EventList::default())),
    };

    let (followed, stopped) = {
        let mut following = pin!(follow(&mut reader, &mut record));
        let first = {
            match select(following.as_mut(), select(asked, pin!(stops.next()))).await {
                Either::Left((followed, _)) => Err(followed),
                Either::Right((request, _)) => Ok(request.factor_first().0),
            }
        };
        match first {
            Err(followed) => (followed, None),
            Ok(request) => {
                let mut followed = Ok(());
                let outcome = {
                    let ended = pin!(async { followed = following.await });
                    stop(transport, &target, request.trigger, grace_ms, &mut stops, ended).await
                };
                (followed, Some((request.why, outcome)))
            }
        }
    };
    if let Some((why, outcome)) = stopped {
        return Err(Error::Stopped(Stopped {
            exec_id: Some(id.as_str().to_owned()),
            why,
            output: record.transcript.text(),
            forced: outcome.forced,
            unstopped: outcome.unstopped,
            incomplete: followed.err(),
        })
        .into());
    }
    let Err(mut error) = followed else {
        return record.transcript.outcome(reader.exit_code());
    };
    match &mut *error {
        Error::ExitCodeMissing { output, .. } | Error::OutputLost { output, .. } => {
            *output = record.transcript.text();
        }
        Error::OutputLimit { limit: OutputLimit::Bytes(_), unstopped, .. } => {
            let ended = pin!(async { drain(&mut reader).await.unwrap_or_default() });
            let outcome =
                stop(transport, &target, Trigger::Stop, grace_ms, &mut stops, ended).await;
            *unstopped = outcome.unstopped;
        }
        _ => {}
    }
    Err(error)
}

/// Reads up to the exit code.
async fn follow(reader: &mut OutputReader, sink: &mut dyn Sink) -> Result<()> {
    while reader.read_into(sink).await? {}
    Ok(())
}

/// Keeps the text, and tells a function of the caller's of each event.
struct Record {
    transcript: Transcript,
    listener: Option<(Function, EventList)>,
}

impl Sink for Record {
    fn read_output<'a>(&mut self, json: &'a [u8]) -> Option<&'a [u8]> {
        if let Some((_, events)) = &mut self.listener {
            events.read_output(json)?;
        }
        self.transcript.read_output(json)
    }

    fn take(&mut self, event: OutputEvent<'_>) {
        self.transcript.take(event);
        if let Some((_, events)) = &mut self.listener {
            events.take(event);
        }
    }

    fn refuse(&mut self) {
        self.transcript.refuse();
        if let Some((_, events)) = &mut self.listener {
            events.refuse();
        }
    }

    fn end_batch(&mut self) -> Result<()> {
        self.transcript.end_batch()?;
        match &mut self.listener {
            Some((listener, events)) => events.tell(listener),
            None => Ok(()),
        }
    }
}
