//! The scoped tokens that are valid.

use sandpipe_protocol::TokenListResponse;

use super::send;
use crate::http::{Request, read_json};
use crate::{Agent, Call, Operation};

/// Lists the valid scoped tokens, newest first.
pub fn list(agent: &Agent) -> Call<TokenListResponse> {
    const OPERATION: Operation = Operation::ListTokens;
    let answer = send(agent, Request::get(OPERATION, "/api/v1/tokens".to_owned()), None);
    Box::pin(async { read_json(OPERATION, &answer.await?) })
}
