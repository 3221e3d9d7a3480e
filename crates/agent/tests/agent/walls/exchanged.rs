//! What a policy names is exchanged between the plan of the walls and their building: by what stands for bubblewrap, and then calls it.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{Walled, users, walls};
use crate::support::{children_of, lives, message_of, until};

/// By which another directory takes the place of the one that a policy names, outside of the workspace and in it.
const EXCHANGES: [(&str, &str); 3] = [
    ("~/shared", "mv home/shared home/old && mv home/secret home/shared"),
    ("~/shared", "mv home/shared home/old && ln -s secret home/shared"),
    ("./out", "mv workspace/out workspace/old && mkdir workspace/out"),
];

#[tokio::test]
async fn nothing_runs_where_something_else_is_mounted() {
    if !walls() {
        return;
    }
    for user in users() {
        for (path, exchange) in EXCHANGES {
            let policy = json!({ "extends": ["strict"], "files": { "write": [path] } }).to_string();
            let fill = |workspace: &Path, home: &Path| {
                for directory in [home.join("shared"), home.join("secret"), workspace.join("out")] {
                    fs::create_dir(directory).unwrap();
                }
                let script = "#!/bin/sh\nPATH=${PATH#*:}\ncase \"$*\" in *--chdir*) \
                    [ ! -e ../armed ] || ( cd .. && rm armed && EXCHANGE ) >&2;; esac\nexec bwrap \"$@\"\n";
                let root = home.parent().unwrap();
                let script = script.replace("..", &format!("'{}'", root.display()));
                let program = home.join("bwrap");
                fs::write(&program, script.replace("EXCHANGE", exchange)).unwrap();
                fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
            };
            let args = ["--policy", &policy];
            let walled = Walled::start_with(*user, &args, fill, |command, home| {
                let path = std::env::var("PATH").unwrap();
                command.env("PATH", format!("{}:{path}", home.display()));
            });
            let root = walled.home.parent().unwrap();
            fs::write(root.join("armed"), "").unwrap();
            let first = walled.agent.box_pid();
            let of_box: Vec<u32> = [first].into_iter().chain(children_of(first)).collect();
            kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
            until("the box is dead", async || !of_box.iter().any(|pid| lives(*pid))).await;
            let script = "for place in ~/shared out; do echo evil > $place/evil; done";
            let exec =
                json!({ "command": "sh", "args": ["-c", script], "env": { "HOME": walled.home } });
            let response = walled.agent.try_create(exec).await;
            assert!(response.status().is_server_error(), "{user:?} {exchange}");
            let message = message_of(response).await;
            assert!(message.contains("was exchanged while"), "{user:?} {exchange}: {message}");
            assert!(!root.join("armed").exists());
            for place in ["home/shared", "home/secret", "home/old", "workspace/out"] {
                assert!(!root.join(place).join("evil").exists(), "{user:?} {exchange}: {place}");
            }
        }
    }
}
