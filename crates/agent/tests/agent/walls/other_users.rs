//! Commands that root's agent runs as other users.

use std::{fs, path::Path, process::Command};

use serde_json::json;

use super::{NOBODY, User, Walled, give, walls};
use crate::support::{needs_root, run_by};

#[tokio::test]
async fn secrets_in_the_homes_of_others_are_not_there_for_them_either() {
    if !walls() || !needs_root("say which users there are") {
        return;
    }
    let fill = |workspace: &Path, home: &Path| {
        let other = home.with_file_name("other");
        fs::create_dir_all(other.join(".ssh")).unwrap();
        fs::write(other.join(".ssh/id"), "hunter2").unwrap();
        fs::write(other.join("notes"), "mine").unwrap();
        give(&other);
        let users = fs::read_to_string("/etc/passwd").unwrap();
        let user = format!("other:x:{NOBODY}:{NOBODY}::{}:/bin/sh\n", other.display());
        fs::write(workspace.join("passwd"), users + &user).unwrap();
    };
    let with_users = |command: &mut Command, home: &Path| {
        let users = home.with_file_name("workspace").join("passwd");
        let mount = "mount --bind \"$0\" /etc/passwd && shift && exec \"$@\"";
        run_by(command, &["unshare", "--mount", "sh", "-c", mount, users.to_str().unwrap()]);
    };
    for policy in ["workspace", "strict"] {
        let walled = Walled::start_with(User::Root, &["--policy", policy], fill, with_users);
        let root = walled.home.parent().unwrap();
        let run = async |file: &str| {
            let path = root.join("other").join(file);
            let exec = json!({ "command": "cat", "args": [path], "user": "other" });
            let exec = walled.agent.create(exec).await;
            walled.agent.finish(&exec.id).await.output()
        };
        let secret = run(".ssh/id").await;
        assert!(!secret.contains("hunter2"), "{policy}: {secret}");
        // It is not the user, nor the directory around it.
        assert_eq!(run("notes").await, "mine", "{policy}");
    }
}
