//! Scoped tokens.

// Doc comments of what is exported come out in TypeScript: they are marked up as TSDoc.
#![allow(clippy::doc_markdown)]

use js_sys::{JsString, Object, Promise};
use sandpipe_client::tokens::{create, list, revoke};
use sandpipe_client::{Agent, Result};
use sandpipe_protocol::CreateTokenRequest;
use wasm_bindgen::prelude::*;

use crate::arguments::{boolean, command_arguments, positive, shell_text, string};
use crate::fields::{Options, options};
use crate::invalid_argument::invalid;
use crate::promise::{nothing, promise_of};
use crate::results::json;
use crate::sandbox::Sandbox;

/// Scoped tokens: each may do a part of what the admin token may, for a while. They are made with the admin token alone, and end with
/// the agent. All calls throw {@link HttpError}, and {@link UnsupportedError} where the agent has no scoped tokens.
///
/// @example
/// const { id, token } = await sandbox.tokens.create({ expiresInMs: 3_600_000, typeInto: [exec.id] });
/// // In a page: connect({ url, token })
/// await sandbox.tokens.revoke(id);
#[wasm_bindgen]
#[derive(Clone)]
pub struct Tokens {
    agent: Agent,
}

#[wasm_bindgen]
impl Tokens {
    /// The tokens of this sandbox.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(sandbox: &Sandbox) -> Self {
        Self { agent: sandbox.agent.clone() }
    }

    /// Creates a token that may do what its scopes say, and nothing else. It names at least one scope.
    ///
    /// @example
    /// const { token } = await sandbox.tokens.create({ expiresInMs: 60_000, readFiles: "reports" });
    #[wasm_bindgen(unchecked_return_type = "Promise<CreatedToken>")]
    pub fn create(
        &self,
        #[wasm_bindgen(unchecked_param_type = "CreateTokenOptions")] options: &Object,
    ) -> Promise {
        let options = CreateTokenRequest::read_required(options, "options");
        promise_of(options.map(|options| create(&self.agent, &options)), json)
    }

    /// Lists the valid tokens, newest first: what they may do, and until when.
    ///
    /// @example
    /// for (const { id, expiresAt } of await sandbox.tokens.list()) console.log(id, expiresAt);
    #[wasm_bindgen(unchecked_return_type = "Promise<TokenInfo[]>")]
    pub fn list(&self) -> Promise {
        promise_of(Ok(list(&self.agent)), |list| json(list.tokens))
    }

    /// Revokes a token by its id. Streams and WebSockets that it has open end; commands that it has created go on.
    ///
    /// @example
    /// await sandbox.tokens.revoke(id);
    #[wasm_bindgen(unchecked_return_type = "Promise<void>")]
    pub fn revoke(&self, id: &JsString) -> Promise {
        promise_of(token_id(id).map(|id| revoke(&self.agent, &id)), nothing)
    }
}

options! {
    /// What a scoped token may do, and for how long.
    interface "CreateTokenOptions"
    for CreateTokenRequest {
        /// How long it is valid, in milliseconds: at most 30 days.
        "expiresInMs" ": number" => expires_in_ms = required positive,
        /// The ids of execs that it may read.
        "readExecs" "?: string[]" => read_execs = optional command_arguments,
        /// The ids of execs that it may type into, and read.
        "typeInto" "?: string[]" => type_into = optional command_arguments,
        /// Whether it may create commands, under the agent's policy. It may read, type into and stop those that it creates.
        "createCommands" "?: boolean" => create_commands = optional boolean,
        /// The directory below which it may read files; links do not lead out of it. Relative to the workspace unless absolute.
        "readFiles" "?: string" => read_files = optional shell_text,
        /// The directory below which it may write and remove files.
        "writeFiles" "?: string" => write_files = optional shell_text,
    }
}

/// The id of a token. The value is in no error message: it may be the token.
fn token_id(value: &JsValue) -> Result<String> {
    let id = string(value, "id")?;
    if id.is_empty() || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(invalid("id", "the id of a token", "something else"));
    }
    Ok(id)
}
