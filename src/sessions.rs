//! Sessions: shells that remember.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use js_sys::{JsString, Object, Promise};
use sandpipe_client::execs::WaitOptions;
use sandpipe_client::output::Encoding;
use sandpipe_client::sessions::SessionOptions;
use sandpipe_client::{Result, sessions};
use wasm_bindgen::prelude::*;

use crate::arguments::shell_text;
use crate::fields::Options;
use crate::invalid_argument::invalid;
use crate::promise::{nothing, promise_of};
use crate::results::run_result;

/// The options of a run, whose output is text: the shell's markers are in it.
fn text_options(options: &JsValue) -> Result<WaitOptions> {
    let options = WaitOptions::read(options)?;
    match options.encoding {
        _ if options.ignored.stdout || options.ignored.stderr => {
            Err(invalid("options", "without stdout and stderr in a session", "not"))
        }
        Encoding::Utf8 => Ok(options),
        Encoding::Bytes => Err(invalid("options.encoding", "\"utf8\" in a session", "\"bytes\"")),
    }
}

/// The sessions of a sandbox.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Sessions(pub(crate) sessions::Sessions);

#[wasm_bindgen]
impl Sessions {
    /// Starts a shell and resolves when it is ready. It runs until it is closed, or its sandbox is.
    ///
    /// @throws {SessionError} There is no such shell, or it could not be started.
    /// @throws {HttpError} With status 400: there is no such `cwd` or `user`.
    /// @throws {CreateUnknownError} Whether the shell was started is not known.
    /// @throws {InvalidArgumentError} An option is wrong.
    #[wasm_bindgen(unchecked_return_type = "Promise<Session>")]
    pub fn create(
        &self,
        #[wasm_bindgen(unchecked_optional_param_type = "SessionOptions")] options: &Object,
    ) -> Promise {
        let created = SessionOptions::read(options).map(|options| self.0.create(options));
        promise_of(created, |session| Ok(Session(session).into()))
    }
}

/// A shell that remembers: directory, variables and functions stay from run to run.
#[wasm_bindgen]
#[derive(Clone)]
pub struct Session(sessions::Session);

#[wasm_bindgen]
impl Session {
    /// Runs a script in the session's shell and resolves its exit code and its output, whatever the
    /// exit code is. Its stdin is empty. What it does to its own output (`exec >file`) and `set -e` end
    /// with it; all else stays. Jobs in the background go on and do not hold it up.
    ///
    /// One run at a time: a run that is asked for meanwhile waits for those before it.
    ///
    /// A run that is stopped is interrupted (SIGINT, as by Ctrl+C), and the session can be used
    /// afterwards. What has not ended after `graceMs` is killed, with all processes of the session but
    /// its shell. Where that does not help either, the shell is killed, and the session is over.
    ///
    /// @throws {InterruptedError} `signal` or `forceSignal` was aborted.
    /// @throws {TimeoutError} `timeoutMs` passed, the time in the queue included.
    /// @throws {SessionError} The session is over: it was closed, or its shell has ended (by `exit`,
    /// `exec`, or a failure under `set -e`), or the agent does not show it any more. The message says
    /// whether the script had begun.
    /// @throws {OutputLimitError} The output is longer than `maxOutputBytes`, or than a string can be.
    /// The script is interrupted.
    /// @throws {OutputLostError} The agent no longer had some of the output; the session is over.
    /// @throws {ExitCodeMissingError} The exit code can't be had: the shell can't be reached any more,
    /// or a piece of the script may not have arrived. The session is over.
    /// @throws {HttpError} There was no connection: the script did not run, and the session goes on.
    /// @throws {InvalidArgumentError} An argument or option is wrong.
    /// @throws What `onOutput` throws; the script is interrupted.
    #[wasm_bindgen(unchecked_return_type = "Promise<RunResult>")]
    pub fn run(
        &self,
        script: &JsString,
        #[wasm_bindgen(unchecked_optional_param_type = "WaitOptions")] options: &Object,
    ) -> Promise {
        // Now: the order is that of the calls.
        let running = shell_text(script, "script")
            .and_then(|script| Ok(self.0.run(script, text_options(options)?)));
        promise_of(running, run_result)
    }

    /// Ends the shell and everything in its process group: SIGHUP, as when a terminal goes away, and
    /// SIGKILL for what is left after 2 s. A run that is under way rejects. Resolves when they are gone,
    /// also when it is called again.
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn close(&self) -> Promise {
        promise_of(Ok(self.0.close()), nothing)
    }

    /// The same as {@link Session.close}, for `await using`.
    #[wasm_bindgen(js_name = "[Symbol.asyncDispose]", unchecked_return_type = "Promise<void>")]
    pub fn dispose(&self) -> Promise {
        self.close()
    }
}
