//! The WebSocket of an exec.

use std::pin::pin;
use std::rc::Rc;

use futures_channel::mpsc::{UnboundedReceiver, UnboundedSender};
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use sandpipe_protocol::ExecStdout;
use sandpipe_protocol::websocket::{AgentFrame, ClientFrame, ClientMessage};

use super::SimAgent;
use super::exec::{Exec, State};
use crate::executor::Owner;

/// Sends the events after `last` and obeys what comes, until one side is at its end.
pub(crate) async fn serve(
    agent: Rc<SimAgent>,
    exec: Rc<Exec>,
    last: i64,
    frames: UnboundedSender<AgentFrame>,
    mut messages: UnboundedReceiver<ClientMessage>,
) {
    let mut last = exec.state().start_after(last);
    loop {
        let next = {
            let output = pin!(exec.wait_for(|state| next_output(state, last)));
            match select(output, messages.next()).await {
                Either::Left((output, _)) => Either::Left(output),
                Either::Right((message, _)) => Either::Right(message),
            }
        };
        match next {
            Either::Right(Some(message)) => obey(&agent, &exec, message, &frames),
            Either::Right(None) | Either::Left(None) => return,
            Either::Left(Some(events)) => {
                for event in events {
                    last = event.sequence;
                    let is_last = event.exit_code.is_some();
                    send(&frames, frame(event));
                    if is_last {
                        return;
                    }
                }
            }
        }
    }
}

/// The events after `last`; None where there are none yet, and an inner None where there will be none. Those that
/// the agent has dropped are missing in their numbers.
#[expect(clippy::option_option, reason = "nothing yet is not the same as nothing any more")]
fn next_output(state: &State, last: u64) -> Option<Option<Vec<ExecStdout>>> {
    let events = state.events_after(last);
    let is_over = state.is_deleted || (state.has_ended() && events.is_empty());
    if is_over { Some(None) } else { (!events.is_empty()).then(|| Some(events.to_vec())) }
}

fn frame(event: ExecStdout) -> AgentFrame {
    let ExecStdout { kind: stream, output, sequence, timestamp, exit_code } = event;
    let sequence = Some(sequence);
    match exit_code {
        Some(exit_code) => AgentFrame::Exit { exit_code, sequence, timestamp },
        None => AgentFrame::Output { output, stream, sequence, timestamp },
    }
}

fn obey(
    agent: &SimAgent,
    exec: &Rc<Exec>,
    ClientMessage { frame, id }: ClientMessage,
    frames: &UnboundedSender<AgentFrame>,
) {
    let id = id.expect("the client numbers its frames");
    let input = match frame {
        ClientFrame::Input { input } => input,
        ClientFrame::Resize(size) => {
            exec.change(|state| state.columns.push(size.cols));
            return send(frames, AgentFrame::Done { id });
        }
        ClientFrame::Ping => return send(frames, AgentFrame::Done { id }),
    };
    let Some(written) = exec.write(input) else {
        let error = "its standard input has ended".to_owned();
        return send(frames, AgentFrame::Error { error, id: Some(id), code: Some(400) });
    };
    let (exec, frames) = (exec.clone(), frames.clone());
    agent.executor.spawn(Owner::Simulation, async move {
        exec.wait_until_read(written).await;
        send(&frames, AgentFrame::Done { id });
    });
}

fn send(frames: &UnboundedSender<AgentFrame>, frame: AgentFrame) {
    // The client may be gone.
    frames.unbounded_send(frame).unwrap_or_default();
}
