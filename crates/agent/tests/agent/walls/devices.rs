//! Devices of the machine, which commands share with it.

use super::{Walled, users, walls};

#[tokio::test]
async fn commands_use_devices_and_do_not_change_their_modes() {
    if !walls() {
        return;
    }
    for user in users() {
        for policy in ["workspace", "offline", "strict"] {
            let walled = Walled::start_as(*user, &["--policy", policy]);
            // The modes and owners that they have, lest a failure harms the machine.
            let change = "for name in null zero full random urandom tty; do \
                 chmod 666 /dev/$name && echo changed; chown 0:0 /dev/$name && echo changed; \
                 touch /dev/$name && echo changed; done 2>/dev/null; true";
            let run = walled.agent.run(change).await;
            assert_eq!(run.output(), "", "{user:?} {policy}");
            let used = "set -e; echo x > /dev/null; cat /dev/null; echo x > /dev/zero; \
                 head -c 3 /dev/zero | wc -c; head -c 3 /dev/random | wc -c; \
                 head -c 3 /dev/urandom | wc -c; echo x 2>/dev/null > /dev/full || echo full";
            let run = walled.agent.run(used).await;
            let output = run.output().replace(' ', "");
            assert!(output.starts_with("3\n3\n3\n"), "{user:?} {policy}: {output}");
            assert!(output.ends_with("full\n"), "{user:?} {policy}: {output}");
        }
    }
}
