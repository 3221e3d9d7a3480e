use std::fs;

use sandpipe_protocol::ExecStatus;
use serde_json::json;

use super::{Walled, users, walls};
use crate::support::{marked_script, none_is_left};

#[tokio::test]
async fn limits_of_processes_hold_also_without_walls() {
    let mut policies = vec!["open"];
    if walls() {
        policies.push("workspace");
    }
    for policy in policies {
        let walled = Walled::start(&[
            "--policy",
            policy,
            "--max-open-files",
            "64",
            "--max-file-size",
            "64KiB",
            "--max-cpu-time",
            "1s",
        ]);
        let agent = &walled.agent;
        assert_eq!(agent.run("ulimit -Hn").await.stdout(), "64\n");
        assert_eq!(agent.run("head -c 1000000 /dev/zero > large").await.exit_code(), 128 + 25);
        assert_eq!(fs::metadata(walled.workspace.join("large")).unwrap().len(), 65_536);
        let run = agent.run("head -c 1000000 /dev/zero > large").await;
        let told = "sandpipe-agent: ended by limits.fileSize of the policy: 65536 bytes\n";
        assert!(run.stderr().ends_with(told), "{}", run.stderr());
        let run = agent.run("while :; do :; done").await;
        let told = "sandpipe-agent: ended by limits.cpuTime of the policy: 1s\n";
        assert_eq!((run.exit_code(), run.stderr()), (128 + 24, told.into()));
        assert_eq!(agent.run("exit 6").await.exit_code(), 6);
    }
}

#[tokio::test]
async fn files_in_memory_take_no_more_than_the_limit_of_it() {
    if !walls() {
        return;
    }
    for user in users() {
        for policy in ["workspace", "strict"] {
            let args = ["--policy", policy, "--max-memory", "16MiB", "--best-effort"];
            let walled = Walled::start_as(*user, &args);
            let agent = &walled.agent;
            assert_ne!(agent.run("echo > /dev/made").await.exit_code(), 0);
            for directory in ["/tmp", "/var/tmp", "/dev/shm"] {
                // In these words: what a program says is in the language of its user.
                let fill = format!(
                    "export LC_ALL=C; head -c 8M /dev/zero > {directory}/small && echo fits; \
                     head -c 32M /dev/zero > {directory}/large; wc -c < {directory}/large"
                );
                let run = agent.run(&fill).await;
                let told = "head: error writing 'standard output': No space left on device\n";
                assert_eq!(
                    (run.stdout(), run.stderr()),
                    (format!("fits\n{}\n", 8 << 20), told.into()),
                    "{user:?} {policy} {directory}"
                );
                assert_eq!(
                    agent
                        .run(&format!("rm {directory}/small {directory}/large; exit 3"))
                        .await
                        .exit_code(),
                    3
                );
            }
        }
    }
}

#[tokio::test]
async fn a_command_that_runs_too_long_is_ended_with_all_that_it_has_started() {
    // Far more than the short commands need. All run at once, so that the test waits for it once.
    let walled = Walled::start(&["--policy", "open", "--max-wall-time", "6500ms"]);
    let agent = &walled.agent;
    let marker = "wall time";
    let script = "setsid -f sleep 600; echo begun; sleep 600";
    let long = agent.create(marked_script(script, marker, false)).await;
    // What one has left is ended, too.
    let leaving = agent.create(marked_script("setsid -f sleep 600", marker, false)).await;
    let run = agent.run("exit 3").await;
    assert_eq!((run.exit_code(), run.stderr()), (3, String::new()));
    assert_eq!(agent.finish(&leaving.id).await.exit_code(), 0);
    let run = agent.finish(&long.id).await;
    let told = "sandpipe-agent: ended by limits.wallTime of the policy: 6.5s\n";
    assert_eq!((run.exit_code(), run.stdout(), run.stderr()), (137, "begun\n".into(), told.into()));
    assert_eq!(agent.get(&long.id).await.status, ExecStatus::Stopped);
    none_is_left(marker).await;
    // A command that starts after that runs as any other.
    assert_eq!(agent.run("exit 4").await.exit_code(), 4);
}

#[tokio::test]
async fn output_is_kept_up_to_its_limit_and_who_writes_more_is_ended() {
    let walled = Walled::start(&["--policy", "open", "--max-output", "10KiB"]);
    let agent = &walled.agent;
    let told = "sandpipe-agent: ended by limits.output of the policy: 10240 bytes\n";
    let run = agent.run("while :; do echo 0123456789; done").await;
    assert_eq!((run.exit_code(), run.stdout().len(), run.stderr()), (137, 10_240, told.into()));
    let exec = agent.create(json!({ "command": "yes", "args": [], "pty": true })).await;
    let run = agent.finish(&exec.id).await;
    assert_eq!((run.stdout().len(), run.stderr()), (10_240, told.into()));
    let run = agent
        .run("head -c 10000 /dev/zero | tr '\\0' x; head -c 240 /dev/zero | tr '\\0' y >&2")
        .await;
    assert_eq!((run.exit_code(), run.output().len()), (0, 10_240));
}
