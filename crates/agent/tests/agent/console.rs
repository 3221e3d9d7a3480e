//! The console of the program itself, which may have been compiled with one or without.

use reqwest::{Method, StatusCode, header::CONTENT_TYPE};
use serde_json::Value;

use crate::support::Agent;

#[tokio::test]
async fn the_page_is_the_console_or_an_error_that_says_that_there_is_none() {
    let agent = Agent::start();
    let response = agent.anonymous(Method::GET, "/").send().await.unwrap();
    if response.status() == StatusCode::OK {
        assert_eq!(response.headers()[CONTENT_TYPE], "text/html; charset=utf-8");
        assert!(response.headers().contains_key("content-security-policy"));
        assert!(response.text().await.unwrap().contains("<script"));
    } else {
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
        let body: Value = response.json().await.unwrap();
        assert!(body["message"].as_str().unwrap().contains("without the console"));
    }
}
