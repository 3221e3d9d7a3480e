//! Sockets that other programs of the machine listen on.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::net::{UnixDatagram, UnixListener},
    path::Path,
    process::{Child, Command, Stdio},
};

use super::{User, Walled, run_as, users, walls};
use crate::support::{run_by, set_mode, until};

/// Connects to each path that it is given, and prints those that take it.
const CLIENT: &str = r#"
use Socket;
for my $path (@ARGV) {
    for my $kind (SOCK_STREAM, SOCK_DGRAM) {
        socket(my $socket, AF_UNIX, $kind, 0) or die;
        print "$path\n" if connect($socket, sockaddr_un($path));
    }
}
"#;

fn listen(path: &Path) -> UnixListener {
    let listener = UnixListener::bind(path).unwrap();
    set_mode(path, 0o777);
    listener
}

/// What commands reach of these.
async fn reached(walled: &Walled, paths: &str) -> String {
    let script = format!("cd '{}' && perl -e '{CLIENT}' {paths}", walled.home.display());
    walled.agent.run(&script).await.output()
}

#[tokio::test]
async fn commands_reach_no_socket_of_the_machine_by_its_path() {
    if !walls() {
        return;
    }
    let named = r#""files": { "read": ["~/named"] }"#;
    for user in users() {
        for policy in ["open", "workspace", "offline", "strict"] {
            let mut kept = Vec::new();
            let fill = |workspace: &Path, home: &Path| {
                for path in [home.join("before"), home.join("named"), workspace.join("own")] {
                    kept.push(listen(&path));
                }
            };
            let text = format!(r#"{{ "extends": ["{policy}"], {named} }}"#);
            let walled = Walled::start_with(*user, &["--policy", &text], fill, |_, _| {});
            let path = |name: &str| walled.home.join(name);
            kept.push(listen(&path("later")));
            let datagrams = UnixDatagram::bind(path("datagrams")).unwrap();
            set_mode(&path("datagrams"), 0o777);
            let busy = UnixDatagram::bind(path("busy")).unwrap();
            set_mode(&path("busy"), 0o777);
            let client = UnixDatagram::unbound().unwrap();
            client.connect(path("busy")).unwrap();
            let all = "before later datagrams busy named ../workspace/own";
            let expected = if policy == "open" { all } else { "named ../workspace/own" };
            let expected = expected.replace(' ', "\n") + "\n";
            assert_eq!(reached(&walled, all).await, expected, "{user:?} {policy}");
            // One that is made anew is another file.
            let exec = walled.agent.sh(&format!(
                "cd '{}'; while perl -e '{CLIENT}' before | grep -q before; do :; done; echo hidden; sleep 600",
                walled.home.display(),
            )).await;
            fs::remove_file(path("before")).unwrap();
            kept.push(listen(&path("before")));
            if policy != "open" {
                until("it is hidden again", async || {
                    let output = walled.agent.output_now(&exec.id, "").await;
                    output.iter().any(|event| event.output.contains("hidden"))
                })
                .await;
            }
            assert_eq!(reached(&walled, all).await, expected, "{user:?} {policy}");
            // Those of commands are reached by them.
            let own = "/tmp/own";
            let server = format!(
                "perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0); bind($s, sockaddr_un(\"{own}\")); \
                listen($s, 5); $| = 1; print \"ready\\n\"; sleep 600'"
            );
            if policy != "open" {
                let server = walled.agent.sh(&server).await;
                walled.agent.stream(&server.id, "").await.until_output("ready").await;
                assert_eq!(reached(&walled, own).await, format!("{own}\n"), "{user:?} {policy}");
                assert_eq!(walled.agent.delete(&server.id).await.status(), 200);
            }
            assert_eq!(walled.agent.delete(&exec.id).await.status(), 200);
            drop((kept, datagrams, busy, client));
        }
    }
}

/// Listens on a path, relative to its working directory, until its standard input ends.
const SERVER: &str = r#"
use Socket;
socket(my $socket, AF_UNIX, SOCK_STREAM, 0) or die;
bind($socket, sockaddr_un($ARGV[0])) or die;
listen($socket, 5) or die;
chmod 0777, $ARGV[0];
$| = 1;
print "listens\n";
readline STDIN;
"#;

/// Listens in a directory by a relative path, as a process of that user.
fn listen_in(user: User, directory: &Path, path: &str) -> Child {
    let mut command = Command::new("perl");
    command.args(["-e", SERVER, path]);
    run_by(&mut command, &["env", "-C", directory.to_str().unwrap()]);
    run_as(&mut command, user);
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "listens\n");
    server
}

#[tokio::test]
async fn commands_reach_no_socket_of_the_machine_by_another_name_than_it_was_bound_to() {
    if !walls() {
        return;
    }
    let fill = |_: &Path, home: &Path| fs::create_dir(home.join("sub directory")).unwrap();
    for user in users() {
        for policy in ["open", "workspace", "strict"] {
            let walled = Walled::start_with(*user, &["--policy", policy], fill, |_, _| {});
            walled.agent.run("true").await;
            let path = |name: &str| walled.home.join(name);
            let mut servers = vec![
                listen_in(*user, &walled.home, "relative"),
                listen_in(*user, &walled.home, "sub directory/relative"),
            ];
            let listeners = ["bound", "temporary", "linked"].map(|name| listen(&path(name)));
            fs::rename(path("bound"), path("renamed")).unwrap();
            // As ssh does.
            fs::hard_link(path("temporary"), path("master")).unwrap();
            fs::remove_file(path("temporary")).unwrap();
            fs::hard_link(path("linked"), path("second")).unwrap();
            let all = "relative sub\\ directory/relative renamed master linked second";
            let reach = |all: &str| if policy == "open" { names(all) } else { String::new() };
            assert_eq!(reached(&walled, all).await, reach(all), "{user:?} {policy}");
            // They were known by these names.
            fs::rename(path("renamed"), path("again")).unwrap();
            fs::rename(path("relative"), path("absolute")).unwrap();
            fs::hard_link(path("linked"), path("third")).unwrap();
            let all = "absolute sub\\ directory/relative again master linked second third";
            assert_eq!(reached(&walled, all).await, reach(all), "{user:?} {policy}");
            for server in &mut servers {
                drop(server.stdin.take());
                server.wait().unwrap();
            }
            drop(listeners);
        }
    }
}

/// The lines that the client prints of all these.
fn names(all: &str) -> String {
    all.replace("\\ ", "\0").replace(' ', "\n").replace('\0', " ") + "\n"
}

#[tokio::test]
async fn a_policy_without_unix_sockets_leaves_connected_pairs_and_tcp() {
    if !walls() {
        return;
    }
    for user in users() {
        for policy in ["open", "workspace", "strict"] {
            let args = ["--policy", policy, "--no-unix-sockets"];
            let fill = |workspace: &Path, _: &Path| drop(listen(&workspace.join("own")));
            let walled = Walled::start_with(*user, &args, fill, |_, _| {});
            let sockets = r#"perl -MSocket -e '
                print socket(my $unix, AF_UNIX, SOCK_STREAM, 0) ? "unix" : "none: $!", "\n";
                print socket(my $tcp, AF_INET, SOCK_STREAM, 0) ? "tcp" : $!, "\n";
                for my $kind (SOCK_DGRAM, SOCK_RAW) {
                    print socketpair(my $a, my $b, AF_UNIX, $kind, PF_UNSPEC) ? "pair" : "none", "\n";
                }
                socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die;
                syswrite($one, "pair\n"); print scalar readline($other);'"#;
            let run = walled.agent.run(sockets).await;
            let expected = "none: Operation not permitted\ntcp\nnone\nnone\npair\n";
            assert_eq!(run.output(), expected, "{user:?} {policy}");
            // What the agent itself does there needs none.
            let path = format!("/tmp/sandpipe-tests-{}", std::process::id());
            assert_eq!(walled.agent.post_file(&path, "content").await.status(), 201, "{user:?}");
            assert!(
                walled.agent.delete_file(&path).await.status().is_success(),
                "{user:?} {policy}"
            );
        }
    }
}
