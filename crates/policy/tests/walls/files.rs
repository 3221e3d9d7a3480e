use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::Path,
};

use crate::support::{Place, User, quoted, users, walls};

const WORKSPACE: &str = "{}";
const STRICT: &str = r#"{ "extends": ["strict"] }"#;

#[test]
fn the_workspace_is_written_and_the_rest_is_read() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/src/main.c", "int");
    place.write("home/notes", "my");
    place.write("home/.npm/", "");
    let home = quoted(&place.home);
    let of_test = format!("/var/tmp/sandpipe-{}", std::process::id());
    place.allows(
        WORKSPACE,
        &[
            "echo a > made && mkdir -p x/y && rm -r x && echo b >> src/main.c && mv made made2",
            &format!("cat {home}/notes /etc/passwd && echo a > {home}/.npm/cached"),
            &format!("echo a > /tmp/a && echo b > {of_test} && echo c > /dev/shm/c && echo > /dev/null && head -c 1 /dev/urandom"),
        ],
    );
    assert!(place.workspace.join("made2").exists());
    assert!(!Path::new(&of_test).exists());
    place.refuses(
        WORKSPACE,
        &[
            "touch /etc/made",
            "touch /usr/made",
            "touch /made",
            "rm /etc/hostname",
            &format!("touch {home}/made"),
            &format!("echo a >> {home}/notes"),
            &format!("ln {home}/notes linked"),
            &format!("ln -s {home}/notes link && echo a >> link"),
            "echo a > /proc/1/root/etc/made",
            "echo a > /proc/self/root/etc/made",
            "echo core > /proc/sys/kernel/core_pattern",
            "echo 0 > /proc/irq/default_smp_affinity",
            "echo h > /proc/sysrq-trigger",
            "echo 1 > /sys/kernel/mm/ksm/run",
            "mknod device b 8 0",
        ],
    );
    place
        .refuses(STRICT, &["touch made", "echo a >> src/main.c", &format!("echo > {home}/.npm/a")]);
    place.allows(STRICT, &["cat src/main.c && echo a > /tmp/a"]);
}

#[test]
fn secrets_are_not_there() {
    if !walls() {
        return;
    }
    let place = Place::new();
    for path in [
        "home/.ssh/id",
        "home/.npmrc",
        "home/.bash_history",
        "home/.config/gcloud/x",
        "home/.aws/c",
        "home/.Xauthority",
        "home/.config/configstore/x",
        "state/token",
    ] {
        place.write(path, "hunter2");
    }
    let [root, home] = [&place.root(), &place.home].map(quoted);
    for policy in [WORKSPACE, STRICT] {
        place.refuses(
            policy,
            &[
                &format!("cat {home}/.ssh/id"),
                &format!("cat {home}/.npmrc"),
                &format!("cat {home}/.bash_history"),
                &format!("grep -r hunter2 {home}"),
                &format!("grep -r hunter2 {root}"),
                &format!("cat {root}/state/token"),
                &format!("touch {home}/.ssh/authorized_keys"),
                "grep -a SECRET_OF_THE_AGENT /proc/*/environ",
                "env | grep SECRET_OF_THE_AGENT",
            ],
        );
    }
    place.refuses(WORKSPACE, &["cat /etc/shadow"]);
}

#[test]
fn what_a_policy_hides_is_hidden_and_what_it_opens_is_open() {
    if !walls() {
        return;
    }
    let place = Place::new();
    for path in [
        "workspace/.env",
        "workspace/a/b/.env",
        "workspace/a/keep",
        "beside/x",
        "shared/x",
        "home/.config/gcloud/key",
    ] {
        place.write(path, "content");
    }
    symlink(place.root().join("beside"), place.home.join("beside")).unwrap();
    let policy = r#"{ "files": { "hide": ["**/.env"], "read": ["./a"], "write": ["~/beside", "~/.config/gcloud/key"] } }"#;
    let root = quoted(place.root());
    place.refuses(
        policy,
        &[
            "cat .env",
            "cat a/b/.env",
            "mv a c && cat c/b/.env",
            "cp .env copy",
            "touch a/made",
            "mv a c",
            &format!("echo a > {root}/shared/x"),
        ],
    );
    place.allows(
        policy,
        &["cat a/keep", &format!("echo a > {root}/beside/x && echo b > {root}/home/beside/y && cat {root}/home/.config/gcloud/key")],
    );
    let open = r#"{ "extends": ["open"], "files": { "hide": ["./.env"] } }"#;
    place.refuses(open, &["cat .env"]);
    place.allows(open, &[&format!("echo a > {root}/shared/x")]);
}

#[test]
fn what_is_hidden_stays_so_beside_what_is_only_read() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/a/.env", "hunter2");
    place.write("workspace/a/b/", "");
    for hidden in ["./a/.env", "**/.env"] {
        let policy = format!(r#"{{ "files": {{ "hide": ["{hidden}"], "read": ["./a/b"] }} }}"#);
        place.refuses(&policy, &["grep -r hunter2 .", "touch a/b/made"]);
    }
}

#[test]
fn what_is_hidden_is_not_moved_from_where_the_next_box_hides_it() {
    if !walls() {
        return;
    }
    let place = Place::new();
    place.write("workspace/a/b/key", "hunter2");
    let policy = r#"{ "files": { "hide": ["./a/b/key"] } }"#;
    let other = "mkdir -p a/b && touch a/b/key";
    place.refuses(policy, &["mv a/b a/c", "mv a c", "rm -r a"]);
    for moved in [format!("mv a/b a/c && {other}"), format!("mv a c && {other}")] {
        for user in users() {
            place.run(policy, *user, &moved);
        }
        place.refuses(policy, &["grep -r hunter2 ."]);
    }
}

#[test]
fn sockets_of_other_programs_are_out_of_reach() {
    if !walls() {
        return;
    }
    let place = Place::new();
    let socket = place.write("home/.docker/run/", "").join("docker.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    place.refuses(
        WORKSPACE,
        &[
            &format!("test -e {}", quoted(&socket)),
            "test -n \"$(ls -A /run | grep -v -e systemd -e resolvconf)\"",
            "touch /run/made",
        ],
    );
}

#[test]
fn a_file_that_goes_with_the_box_is_not_on_the_machine() {
    if !walls() {
        return;
    }
    let place = Place::new();
    let name = format!("/tmp/sandpipe-{}", std::process::id());
    fs::write(&name, "").unwrap();
    let outcome = place.run(
        WORKSPACE,
        User::Own,
        &format!("test ! -e {name} && echo a > {name} && cat {name}"),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.text);
    assert_eq!(fs::read_to_string(&name).unwrap(), "");
    fs::remove_file(&name).unwrap();
}
