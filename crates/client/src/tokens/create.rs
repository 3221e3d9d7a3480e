//! Creating a scoped token.

use sandpipe_protocol::{CreateTokenRequest, CreatedToken};

use super::send;
use crate::http::{Request, read_json};
use crate::{Agent, Call, Operation};

/// Creates a scoped token. It is asked for once: a token whose answer is lost would be nobody's.
pub fn create(agent: &Agent, request: &CreateTokenRequest) -> Call<CreatedToken> {
    const OPERATION: Operation = Operation::CreateToken;
    let request = Request::post(OPERATION, "/api/v1/tokens".to_owned(), request);
    let answer = send(agent, Request { once: true, ..request }, None);
    Box::pin(async { read_json(OPERATION, &answer.await?) })
}
