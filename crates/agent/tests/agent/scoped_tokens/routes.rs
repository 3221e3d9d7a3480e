//! What each kind of token may do, over all routes that the agent describes.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::super::{
    files::Space,
    support::{ADMIN, READONLY, within},
};

/// The kinds of tokens.
const KINDS: [&str; 9] = [
    "none",
    "revoked",
    "admin",
    "read-only",
    "readExecs",
    "typeInto",
    "createCommands",
    "readFiles",
    "writeFiles",
];

/// Which kinds may do an operation. One that is not here is the admin token's.
fn allowed(operation: &str) -> &'static [&'static str] {
    match operation {
        "getHealth" => &KINDS,
        "listExecs" | "StreamExecsList" => &[
            "admin",
            "read-only",
            "readExecs",
            "typeInto",
            "createCommands",
            "readFiles",
            "writeFiles",
        ],
        "getExec" | "getExecOutput" | "streamExecOutput" | "connectToExecWebSocket" => {
            &["admin", "read-only", "readExecs", "typeInto"]
        }
        "execExecStdin" => &["admin", "typeInto"],
        "createExec" => &["admin", "createCommands"],
        "getPolicy" | "listPorts" | "streamPorts" => &["admin", "read-only"],
        "readFile" | "listDirectory" | "statFile" | "readTree" => &["admin", "readFiles"],
        "createFile" | "putFile" | "deleteFile" | "performFileAction" | "createDirectory"
        | "deleteDirectory" | "putTree" => &["admin", "writeFiles"],
        _ => &["admin"],
    }
}

/// What a token that may not do it is answered with.
fn refused(kind: &str, is_of_exec: bool) -> StatusCode {
    match kind {
        "none" | "revoked" => StatusCode::UNAUTHORIZED,
        // An exec that a token may not read is not there for it.
        "createCommands" | "readFiles" | "writeFiles" if is_of_exec => StatusCode::NOT_FOUND,
        _ => StatusCode::FORBIDDEN,
    }
}

/// A token of a kind, for this exec.
async fn token(space: &Space, kind: &str, exec: &str) -> Option<String> {
    let request = match kind {
        "none" => return None,
        "admin" => return Some(ADMIN.into()),
        "read-only" => return Some(READONLY.into()),
        "readExecs" | "revoked" => json!({ "readExecs": [exec] }),
        "typeInto" => json!({ "typeInto": [exec] }),
        "createCommands" => json!({ "createCommands": true }),
        kind => json!({ kind: "dir" }),
    };
    let scoped = space.agent.scoped(request).await;
    if kind == "revoked" {
        scoped.revoke().await;
    }
    Some(scoped.token)
}

#[tokio::test]
async fn each_token_may_do_what_it_was_made_for_on_every_route_and_nothing_else() {
    let space = Space::start();
    let document = space.agent.anonymous(Method::GET, "/openapi.json").send();
    let document: Value = within(document).await.unwrap().json().await.unwrap();
    let mut count = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let operation = operation["operationId"].as_str().unwrap();
            for kind in KINDS {
                // Whatever was done before.
                std::fs::create_dir_all(space.path("dir")).unwrap();
                std::fs::write(space.path("dir/file"), "text").unwrap();
                let create = json!({ "command": "true", "args": [], "autostart": false });
                let exec = space.agent.create(create).await.id;
                let token = token(&space, kind, &exec).await;
                let is_of_exec = path.contains("/execs/{id}");
                let id = if is_of_exec { &exec } else { "none" };
                let path =
                    path.replace("{id}", id).replace("{port}", "1").replace("{path}", "dir/file");
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let mut request = space.agent.anonymous(method, &path);
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                let status = within(request.send()).await.unwrap().status();
                let told = format!("{operation} with the token {kind}: {status}");
                if allowed(operation).contains(&kind) {
                    let is_hidden = is_of_exec && status == StatusCode::NOT_FOUND;
                    let is_refused =
                        [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&status);
                    assert!(!is_refused && !is_hidden, "{told}");
                } else {
                    assert_eq!(status, refused(kind, is_of_exec), "{told}");
                }
                count += 1;
            }
        }
    }
    assert!(count > 30 * KINDS.len(), "{count}");
}
