//! The file with the policy, where commands may write.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::{Walled, users, walls};
use crate::support::{agent_command, refused};

const POLICY: &str = r#"{ "files": { "hide": ["./key"] } }"#;

fn fill(workspace: &Path) -> PathBuf {
    let policy = workspace.join("config/policy.json");
    fs::create_dir(workspace.join("config")).unwrap();
    fs::write(workspace.join("key"), "hunter2").unwrap();
    fs::write(&policy, POLICY).unwrap();
    policy
}

#[tokio::test]
async fn commands_do_not_write_the_file_with_their_policy() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(
            *user,
            &[],
            |workspace, _| drop(fill(workspace)),
            |command, home| {
                let policy = home.parent().unwrap().join("workspace/config/policy.json");
                command.arg("--policy").arg(policy);
            },
        );
        let policy = walled.workspace.join("config/policy.json");
        for script in [
            "echo {} > config/policy.json",
            "rm -f config/policy.json",
            "echo {} > new && mv new config/policy.json",
            "mv config old && mkdir config && echo {} > config/policy.json",
        ] {
            assert_ne!(walled.agent.run(script).await.exit_code(), 0, "{user:?}: {script}");
            assert_eq!(fs::read_to_string(&policy).unwrap(), POLICY, "{user:?}: {script}");
        }
        assert_eq!(walled.agent.run("cat config/policy.json").await.output(), POLICY);
    }
}

#[test]
fn a_link_to_a_policy_that_commands_could_change_is_refused() {
    if !walls() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let workspace = directory.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    symlink(fill(&workspace), workspace.join("link.json")).unwrap();
    let mut command = agent_command(&directory.path().join("state"));
    // Named as it is seen from where the agent is started.
    command.current_dir(&workspace).args(["--policy", "link.json"]);
    let error = refused(&mut command);
    assert!(error.contains("link.json, which a command could change, leads to"), "{error}");
}
