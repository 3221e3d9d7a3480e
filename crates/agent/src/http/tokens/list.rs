use std::{collections::BTreeSet, path::Path, sync::Arc};

use axum::{Json, extract::State};
use humantime::format_rfc3339_millis;
use sandpipe_protocol::{TokenInfo, TokenListResponse};

use crate::{
    http::{App, execs::responses::ApiErrors},
    tokens::ScopedToken,
};

/// List the scoped tokens that are valid, newest first. The tokens themselves are not shown.
#[utoipa::path(
    get,
    path = "/api/v1/tokens",
    operation_id = "listTokens",
    tag = "tokens",
    responses(
        (status = 200, description = "The valid tokens", body = TokenListResponse),
        ApiErrors,
    )
)]
pub(crate) async fn list_tokens(State(app): State<App>) -> Json<TokenListResponse> {
    let tokens = app.scoped_tokens.list();
    Json(TokenListResponse { tokens: tokens.iter().map(|token| info(token)).collect() })
}

fn info(token: &ScopedToken) -> TokenInfo {
    let scopes = &token.scopes;
    let ids = |ids: &BTreeSet<String>| (!ids.is_empty()).then(|| ids.iter().cloned().collect());
    let directory =
        |directory: &Option<Arc<Path>>| Some(directory.as_ref()?.to_string_lossy().into_owned());
    TokenInfo {
        id: token.id.to_string(),
        created_at: format_rfc3339_millis(token.created_at).to_string(),
        expires_at: format_rfc3339_millis(token.expires_at()).to_string(),
        read_execs: ids(&scopes.read_execs),
        type_into: ids(&scopes.type_into),
        create_commands: scopes.create_commands.then_some(true),
        read_files: directory(&scopes.read_files),
        write_files: directory(&scopes.write_files),
    }
}
