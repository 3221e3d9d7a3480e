//! ssh takes the settings of the machine in a sandbox of an ordinary user.

use std::{path::Path, process::Command};

use super::{User, Walled, can_run, walls};
use crate::support::{needs, needs_root, run_by};

/// Puts settings into `/etc/ssh`, which include others, in a directory and by a link.
const SETTINGS: &str = "set -e; mount -t tmpfs -o mode=755 tmpfs /etc/ssh; cd /etc/ssh
    mkdir ssh_config.d more; echo 'Include /etc/ssh/ssh_config.d/*.conf' > ssh_config
    printf 'Include more/link\\nHost a.example\\n  User set\\n' > ssh_config.d/a.conf
    printf 'Host a.example\\n  Port 2222\\n' > more/file; ln -s file more/link
    chown \"$OWNER\" ssh_config.d/a.conf; cd /; chown -R \"$NUMBER\" \"$0\"; shift
    exec setpriv --reuid \"$NUMBER\" --regid 1 --clear-groups \"$@\"";

/// Numbers of users: root, and one who is not the one that files of others seem to belong to in a
/// user namespace, as nobody is.
const USERS: [&str; 2] = ["0", "1"];

/// Starts an agent of a user on a machine with settings of ssh, one file of which belongs to an
/// owner.
fn start(user: &str, owner: &str, policy: &str) -> Walled {
    let with_settings = |command: &mut Command, home: &Path| {
        let root = home.parent().unwrap().to_str().unwrap();
        run_by(command, &["unshare", "--mount", "sh", "-c", SETTINGS, root]);
        command.env("NUMBER", user).env("OWNER", owner);
    };
    Walled::start_with(User::Root, &["--policy", policy], |_, _| {}, with_settings)
}

#[tokio::test]
async fn ssh_takes_the_settings_of_the_machine() {
    let has_ssh = Path::new("/usr/bin/ssh").exists();
    if !walls() || !needs(has_ssh, "/usr/bin/ssh") || !needs_root("write settings of ssh") {
        return;
    }
    for user in USERS {
        for policy in ["workspace", "offline"] {
            let walled = start(user, "0", policy);
            let run = walled.agent.run("ssh -G a.example | grep -E '^(user|port) '").await;
            assert_eq!(run.stdout(), "user set\nport 2222\n", "{user} {policy}: {}", run.output());
            walled.refuses(&["echo > /etc/ssh/ssh_config.d/a.conf"]).await;
        }
        let walled = start(user, "0", "offline");
        if needs(can_run("git"), "git") {
            let run = walled.agent.run("git ls-remote ssh://git@a.example/a.git").await.output();
            assert!(run.contains("Could not resolve hostname a.example"), "{user}: {run}");
        }
        // What ssh refuses outside, it refuses here.
        let walled = start(user, "1234", "offline");
        let refused = walled.agent.run("ssh -G a.example").await.output();
        assert!(refused.contains("Bad owner or permissions"), "{user}: {refused}");
    }
}
