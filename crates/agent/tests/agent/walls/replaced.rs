//! Files and directories with a rule that something outside of the sandbox replaces by others while a command runs.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use nix::unistd::geteuid;
use sandpipe_protocol::ExecStatus;
use serde_json::json;

use super::{NOBODY, User, Walled, users, walls};
use crate::support::{message_of, run_by, until, within};

const POLICY: &str = r#"{
    "extends": ["workspace", "commits"],
    "files": { "hide": ["./.env", "./sub/.env"], "read": ["./policy.json"] }
}"#;

/// Answers each connection with what it can do: read what it is named, or write that. It prints its port, and leaves nothing behind
/// where it can write.
const SERVER: &str = r#"
use IO::Socket::INET;
$| = 1;
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => "127.0.0.1") or die;
print $server->sockport, " is ready\n";
while (my $client = $server->accept) {
    chomp(my $path = <$client>);
    my ($in, $out);
    my $read = open($in, "<", $path) && defined readline($in) ? "read" : "-";
    my $write = open($out, ">>", $path) ? "write" : "-";
    print $client "$read $write";
}
"#;

/// By which another file takes the place of one that has a rule: the file, what a command may do with it, and the script.
const REPLACEMENTS: [(&str, &str, &str); 13] = [
    // As vim does, without and with a copy that stays.
    (".env", "- -", "mv .env .env~ && echo new > .env && rm .env~"),
    (".env", "- -", "mv .env .env~ && echo new > .env"),
    // As less and shells do with their histories.
    (
        "../home/.lesshst",
        "- -",
        "echo new > ../home/.lesshst-1 && mv ../home/.lesshst-1 ../home/.lesshst",
    ),
    (
        "../home/.bash_history",
        "- -",
        "rm ../home/.bash_history && echo new > ../home/.bash_history",
    ),
    (".env", "- -", "git checkout -q -f other"),
    (".env", "- -", "git checkout -q -f first"),
    (".env", "- -", "sed -i s/new/newer/ .env"),
    (".git/config", "read -", "git config user.name other"),
    ("policy.json", "read -", "sed -i s/strict/open/ policy.json"),
    ("policy.json", "read -", "rm -f new; cp policy.json new && ln -f new policy.json"),
    (
        "../home/.ssh/key",
        "- -",
        "mv ../home/.ssh ../home/old && mkdir ../home/.ssh && echo new > ../home/.ssh/key",
    ),
    ("sub/.env", "- -", "mv sub old && mkdir sub && echo new > sub/.env"),
    (
        ".git/hooks/pre-commit",
        "read -",
        "rm -r .git/hooks && mkdir .git/hooks && echo new > .git/hooks/pre-commit",
    ),
];

fn fill(workspace: &Path, home: &Path) {
    for directory in [workspace.join("sub"), home.join(".ssh")] {
        fs::create_dir(directory).unwrap();
    }
    for path in [".lesshst", ".bash_history", ".ssh/key"] {
        fs::write(home.join(path), "secret\n").unwrap();
    }
    for path in [".env", "sub/.env"] {
        fs::write(workspace.join(path), "secret\n").unwrap();
    }
    fs::write(workspace.join("policy.json"), "strict\n").unwrap();
    let repository = "git init -q -b first && git config user.name a && git config user.email a@b \
        && git add .env && git commit -q -m first && git checkout -q -b other \
        && echo other > .env && git commit -q -a -m other && git checkout -q first";
    assert!(shell(workspace, repository).status().unwrap().success());
    fs::write(workspace.join(".git/hooks/pre-commit"), "exit 0\n").unwrap();
}

/// A script outside of the sandbox.
fn shell(workspace: &Path, script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-e", "-c", script]).env("HOME", workspace);
    run_by(&mut command, &["env", "-C", workspace.to_str().unwrap()]);
    command
}

fn outside(walled: &Walled, user: User, script: &str) {
    let mut command = shell(&walled.workspace, script);
    if user == User::Ordinary && geteuid().is_root() {
        let nobody = NOBODY.to_string();
        run_by(
            &mut command,
            &["setpriv", "--reuid", &nobody, "--regid", &nobody, "--clear-groups"],
        );
    }
    assert!(command.status().unwrap().success(), "{user:?} {script}");
}

/// What the server can do with a file.
fn can(port: u16, path: &str) -> String {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    writeln!(socket, "{path}").unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    answer
}

#[tokio::test]
async fn rules_hold_and_a_server_goes_on_when_files_are_replaced_outside() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", POLICY], fill, |_, _| {});
        let agent = &walled.agent;
        let server = json!({ "command": "perl", "args": ["-e", SERVER] });
        let server = agent.create(server).await;
        let mut output = agent.stream(&server.id, "").await;
        let port = output.until_output("is ready").await;
        let port = port.split(' ').next().unwrap().parse().unwrap();
        assert_eq!(can(port, "sub/own"), "- write", "{user:?}");
        for (path, expected, script) in REPLACEMENTS {
            assert_eq!(can(port, path), expected, "{user:?} {path}");
            outside(&walled, *user, script);
            // Before another command has it looked at, and as each of those finds it.
            until("the rule holds", async || can(port, path) == expected).await;
            outside(&walled, *user, script);
            let name = walled.workspace.join(path);
            let content = fs::read(&name).unwrap();
            let run =
                agent.run(&format!("cat {path} && echo READ; echo >> {path} && echo WROTE")).await;
            let can_read = run.stdout().contains("READ");
            assert_eq!(
                can_read,
                expected.starts_with("read"),
                "{user:?} {script}: {}",
                run.output()
            );
            assert!(!run.stdout().contains("WROTE"), "{user:?} {script}: {}", run.output());
            assert_eq!(fs::read(&name).unwrap(), content, "{user:?} {script}");
            // Nor by a name of its own, nor with the directory that it is in.
            walled.refuses(&[&format!("mv {path} other"), &format!("echo > x; mv x {path}")]).await;
        }
        walled.refuses(&["mv sub other", "mv .git other", "rm -r .git/hooks"]).await;
        let files = agent.read_file(walled.workspace.join(".env")).await;
        assert!(files.status().is_client_error(), "{user:?}: {}", files.status());
        // What commands could do they still can.
        let run = agent
            .run("echo own > own && git add own && git commit -q -m own && git show --stat")
            .await;
        assert!(run.stdout().contains("own | 1 +"), "{user:?}: {}", run.output());
        assert_eq!(can(port, "own"), "read write", "{user:?}");
        assert_eq!(agent.get(&server.id).await.status, ExecStatus::Running, "{user:?}");
        assert_eq!(agent.delete(&server.id).await.status(), 200);
    }
}

#[tokio::test]
async fn a_file_request_finds_the_rule_again_at_once() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", POLICY], fill, |_, _| {});
        let agent = &walled.agent;
        let path = walled.workspace.join(".env");
        for _ in 0..20 {
            let status = agent.read_file(&path).await.status();
            assert!(status.is_client_error(), "{user:?}: {status}");
            outside(&walled, *user, "mv .env .env~; echo secret > .env");
        }
    }
}

#[tokio::test]
async fn commands_make_no_directory_in_place_of_one_that_was_removed_outside() {
    if !walls() {
        return;
    }
    for user in users() {
        let start = || Walled::start_with(*user, &["--policy", "workspace"], fill, |_, _| {});
        let walled = start();
        let (agent, git) = (&walled.agent, walled.workspace.join(".git"));
        let server = agent.sh("echo ready; sleep 600").await;
        agent.stream(&server.id, "").await.until_output("ready").await;
        for script in ["rm -r .git", "rmdir .git", "git init -q && mv .git old"] {
            outside(&walled, *user, script);
            until("an empty directory is there", async || {
                fs::read_dir(&git).is_ok_and(|mut entries| entries.next().is_none())
            })
            .await;
            walled.refuses(&["rmdir .git && mkdir .git", "echo > .git/config", "mv .git x"]).await;
        }
        // A repository of the user's takes its place.
        outside(&walled, *user, "git init -q && git config user.name other");
        walled.refuses(&["echo >> .git/config"]).await;
        assert_eq!(agent.run("git config user.name").await.stdout(), "other\n", "{user:?}");
        outside(&walled, *user, "rm -r .git");
        until("a directory is there", async || git.exists()).await;
        assert_eq!(agent.get(&server.id).await.status, ExecStatus::Running, "{user:?}");
        let Walled { agent, directory, .. } = walled;
        drop(agent);
        until("nothing is left", async || !git.exists()).await;
        drop(directory);
    }
}

#[tokio::test]
async fn commands_get_another_private_directory_when_that_is_removed_outside() {
    if !walls() {
        return;
    }
    let fill = |_: &Path, home: &Path| fs::create_dir_all(home.join(".npm/_npx")).unwrap();
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", "workspace"], fill, |_, _| {});
        let (agent, npx) = (&walled.agent, walled.home.join(".npm/_npx"));
        let server = agent.sh("echo ready; sleep 600").await;
        agent.stream(&server.id, "").await.until_output("ready").await;
        for script in
            ["rm -r ../home/.npm/_npx", "rm -r ../home/.npm/_npx && mkdir ../home/.npm/_npx"]
        {
            outside(&walled, *user, script);
            until("commands have one of their own", async || {
                // Until it is mounted again they may write the one outside (docs/security.md).
                let write = "grep -q \" $HOME/.npm/_npx \" /proc/self/mountinfo && \
                     echo own > ~/.npm/_npx/own && cat ~/.npm/_npx/own";
                let run = agent.run(write).await;
                let is_outside = npx.join("own").exists();
                assert!(!is_outside, "{user:?} {script}");
                run.stdout() == "own\n"
            })
            .await;
        }
        assert_eq!(agent.get(&server.id).await.status, ExecStatus::Running, "{user:?}");
    }
}

#[tokio::test]
async fn a_sandbox_ends_where_its_rule_cant_be_mounted_again() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_with(*user, &["--policy", POLICY], fill, |_, _| {});
        let agent = &walled.agent;
        let exec = agent.sh("echo ready; sleep 600").await;
        agent.stream(&exec.id, "").await.until_output("ready").await;
        outside(&walled, *user, "mv .env real && ln -s real .env");
        // Nobody knows how it would have ended.
        within(agent.finish(&exec.id)).await;
        let answer = agent.try_create(json!({ "command": "cat", "args": ["real"] })).await;
        assert!(answer.status().is_server_error(), "{user:?}");
        let message = message_of(answer).await;
        assert!(message.contains(".env"), "{user:?}: {message}");
        outside(&walled, *user, "mv real .env");
        assert_ne!(agent.run("cat .env").await.exit_code(), 0, "{user:?}");
        assert_eq!(agent.run("exit 4").await.exit_code(), 4, "{user:?}");
    }
}

/// Waits until it can write a place, and keeps it open: for writing, for reading, as its directory. A file that was replaced is of no use:
/// it has no links.
const KEEPERS: [(&str, &str); 3] = [
    (".git/config", r#"until (open($one, ">>", $path) && (stat $one)[3]) {}"#),
    (
        ".git/config",
        r#"until (open($one, "<", $path) && (stat $one)[3]
            && open($other, ">>", "/proc/self/fd/" . fileno $one)) {}
        close $other;"#,
    ),
    (".git/hooks", r#"until (chdir $path && mkdir "made") {}"#),
];

#[tokio::test]
async fn what_keeps_a_replaced_file_open_to_write_it_later_is_killed() {
    if !walls() {
        return;
    }
    for user in users() {
        for (path, keeper) in KEEPERS {
            let walled = Walled::start_with(*user, &["--policy", POLICY], fill, |_, _| {});
            let agent = &walled.agent;
            // One that reads the file all the time has it open as everybody does.
            let reader = "echo ready; while :; do cat .git/config .git/hooks/* > own; done";
            let reader = agent.sh(reader).await;
            agent.stream(&reader.id, "").await.until_output("ready").await;
            let place = walled.workspace.join(path);
            let keeper =
                format!("my ($path, $one, $other) = '{}'; {keeper} sleep 600", place.display());
            let keeper = agent.create(json!({ "command": "perl", "args": ["-e", keeper] })).await;
            let mut replaced: Option<Instant> = None;
            until("it is killed", async || {
                // It may not have been quick enough, and has nothing open that is still there.
                if replaced.is_none_or(|replaced| replaced.elapsed() > Duration::from_secs(1)) {
                    let script = "git config user.name other; \
                        mv .git/hooks old; cp -r old .git/hooks; rm -rf old";
                    outside(&walled, *user, script);
                    replaced = Some(Instant::now());
                }
                agent.get(&keeper.id).await.status != ExecStatus::Running
            })
            .await;
            assert_eq!(agent.finish(&keeper.id).await.exit_code(), 137, "{user:?} {path}");
            assert_eq!(agent.get(&reader.id).await.status, ExecStatus::Running, "{user:?} {path}");
            assert_eq!(agent.delete(&reader.id).await.status(), 200);
        }
    }
}
