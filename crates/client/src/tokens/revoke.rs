//! Revoking a scoped token.

use super::send;
use crate::http::Request;
use crate::{Agent, Call, Operation};

/// Revokes a scoped token by its id, which is letters and digits. What it has open ends.
pub fn revoke(agent: &Agent, id: &str) -> Call<()> {
    let path = format!("/api/v1/tokens/{id}");
    let answer = send(agent, Request::delete(Operation::RevokeToken, path), Some(404));
    Box::pin(async { answer.await.map(drop) })
}
