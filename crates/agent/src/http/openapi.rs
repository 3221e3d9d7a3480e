use utoipa::{
    Modify, OpenApi,
    openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

/// The document at `/openapi.json`; the paths come from the handlers, the schemas from the types.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Sandpipe agent",
        description = "Runs commands in process groups of their own, and keeps their output for any number of readers.",
    ),
    modifiers(&Tokens),
    security(("bearerAuth" = [])),
)]
pub(crate) struct Document;

struct Tokens;

impl Modify for Tokens {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let components = document.components.get_or_insert_default();
        let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("bearerAuth", SecurityScheme::Http(bearer));
        let query = ApiKey::Query(ApiKeyValue::new("token"));
        components.add_security_scheme("queryToken", SecurityScheme::ApiKey(query));
    }
}
