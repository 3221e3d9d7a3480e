//! Other processes that a command would hold up or limit.

use super::{Walled, users, walls};

/// Takes a lease for writing (fcntl(2), `F_SETLEASE`): who opens the file waits for its end.
const LEASE: &str = r#"perl -e 'open F, "<", $ARGV[0] or die; fcntl(F, 1024, 1) or die "$!\n"' "#;

#[tokio::test]
async fn a_command_holds_up_nobody_who_opens_a_file_and_limits_no_other_process() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_as(*user, &["--policy", "strict"]);
        let own = "touch /tmp/file && flock -n /tmp/file true && ulimit -n 64 && ulimit -n";
        assert_eq!(walled.agent.run(own).await.output(), "64\n", "{user:?}");
        let lease = walled.agent.run(&format!("{LEASE} /tmp/file")).await;
        assert_eq!(lease.output(), "Operation not permitted\n", "{user:?}");
        // The first process starts the commands.
        let limit = "LC_ALL=C prlimit --pid 1 --nofile=0:0; \
            prlimit --pid 1 --output SOFT --nofile --noheadings";
        let output = walled.agent.run(limit).await.output();
        let (refused, soft) = output.trim().rsplit_once('\n').unwrap();
        assert!(refused.contains("Operation not permitted"), "{user:?}: {output}");
        assert_ne!(soft.trim(), "0", "{user:?}");
    }
}
