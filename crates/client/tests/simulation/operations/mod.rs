//! The calls of the client. Each is a test of its own, so that they share the processors.

mod attach;
mod close;
mod create;
mod exec;
mod get_output;
mod kill;
mod session;
mod stop;
mod stream_list;
mod stream_output;
mod terminate;
mod wait;

use sandpipe_client::error::Result;
use sandpipe_client::output::transcript::ExecResult;
use sandpipe_protocol::CreateExecRequest;

use crate::host::text_of;
use crate::invariants::Told;

/// The command that is run.
const COMMAND: &str = "command";

/// The create of the command.
fn command() -> CreateExecRequest {
    CreateExecRequest { command: COMMAND.to_owned(), ..CreateExecRequest::default() }
}

/// What the caller of something that follows a command to its end was told.
fn told(result: Result<ExecResult>) -> Told {
    let ExecResult { exit_code, output } = result?;
    Ok((exit_code.expect("it has ended"), text_of(&output)))
}
