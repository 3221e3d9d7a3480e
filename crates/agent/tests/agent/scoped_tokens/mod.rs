//! Scoped tokens: what each may do, and how they end.

mod ends;
mod execs;
mod files;
mod logs;
mod made;
mod routes;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};

use crate::support::{Agent, within};

const PATH: &str = "/api/v1/tokens";

/// A scoped token, and its agent.
struct Scoped<'a> {
    agent: &'a Agent,
    id: String,
    token: String,
}

impl Agent {
    /// Asks for a token with these scopes.
    async fn ask_for_token(&self, request: Value) -> Response {
        within(self.request(Method::POST, PATH).json(&request).send()).await.unwrap()
    }

    /// A token that is valid for as long as a test may take.
    async fn scoped(&self, mut scopes: Value) -> Scoped<'_> {
        scopes["expiresInMs"] = json!(600_000);
        let response = self.ask_for_token(scopes).await;
        assert_eq!(response.status(), 201, "{}", response.text().await.unwrap());
        let made: Value = response.json().await.unwrap();
        let text = |name: &str| made[name].as_str().unwrap().to_owned();
        Scoped { agent: self, id: text("id"), token: text("token") }
    }
}

impl Scoped<'_> {
    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.agent.anonymous(method, path).bearer_auth(&self.token)
    }

    async fn get(&self, path: &str) -> Response {
        within(self.request(Method::GET, path).send()).await.unwrap()
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> Response {
        within(self.request(method, path).json(&body).send()).await.unwrap()
    }

    async fn status(&self, path: &str) -> StatusCode {
        self.get(path).await.status()
    }

    async fn revoke(&self) {
        let request = self.agent.request(Method::DELETE, &format!("{PATH}/{}", self.id));
        assert_eq!(within(request.send()).await.unwrap().status(), 200);
    }
}
