use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;
use tempfile::TempDir;

use super::{Walled, users, walls};
use crate::support::run_by;

#[tokio::test]
async fn an_agent_whose_program_is_replaced_or_removed_starts_boxes_of_the_one_that_runs() {
    if !walls() {
        return;
    }
    for (user, is_replaced) in users().iter().flat_map(|user| [(*user, true), (*user, false)]) {
        let directory = TempDir::new().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let program = directory.path().join("sandpipe-agent");
        fs::copy(env!("CARGO_BIN_EXE_sandpipe-agent"), &program).unwrap();
        let walled = Walled::start_with(
            user,
            &["--policy", "workspace"],
            |_, _| {},
            |command, _| {
                let script = r#"program=$0; shift 2; exec "$program" "$@""#;
                run_by(command, &["sh", "-c", script, program.to_str().unwrap()]);
            },
        );
        let agent = &walled.agent;
        let runs = agent.sh("exec sleep 600").await;
        let own_box = agent.box_pid();
        fs::remove_file(&program).unwrap();
        if is_replaced {
            fs::write(&program, "#!/bin/sh\nexit 1\n").unwrap();
            fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        }
        let narrower = json!({ "command": "sh", "args": ["-c", "exit 4"], "policy": "offline" });
        let exec = agent.create(narrower).await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 4);
        kill(Pid::from_raw(own_box.cast_signed()), Signal::SIGKILL).unwrap();
        // With that the agent knows.
        let events = agent.finish(&runs.id).await.0;
        assert!(events.iter().all(|event| event.exit_code.is_none()));
        assert_eq!(agent.run("exit 5").await.exit_code(), 5);
    }
}
