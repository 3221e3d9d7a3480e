//! Commands under a policy. Where no walls can be built these tests say so.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    thread,
};

use reqwest::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Agent, agent_command, refused, until, within};

/// Whether walls can be built here.
fn walls() -> bool {
    let tried =
        Command::new("bwrap").args(["--ro-bind", "/", "/", "--unshare-pid", "true"]).status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        let _told = writeln!(std::io::stderr(), "skipped: bubblewrap builds no walls here");
    }
    can
}

/// An agent with a workspace of its own.
struct Walled {
    agent: Agent,
    workspace: TempDir,
}

impl Walled {
    fn start(policy: &[&str]) -> Self {
        let workspace = TempDir::new().unwrap();
        let path = workspace.path().to_str().unwrap();
        let agent = Agent::with_args(&[&["--workspace", path], policy].concat());
        Self { agent, workspace }
    }

    async fn refuses(&self, scripts: &[&str]) {
        for script in scripts {
            let run = self.agent.run(&format!("({script}) && echo DONE")).await;
            assert!(!run.output().contains("DONE"), "{script}: {}", run.output());
        }
    }
}

#[tokio::test]
async fn a_command_runs_behind_walls_as_without() {
    if !walls() {
        return;
    }
    for policy in ["workspace", "offline", "strict"] {
        let walled = Walled::start(&["--policy", policy]);
        let agent = &walled.agent;
        let run = agent.run("echo out; echo err >&2; exit 7").await;
        assert_eq!(
            (run.exit_code(), run.stdout(), run.stderr()),
            (7, "out\n".into(), "err\n".into())
        );
        let exec = agent.sh_in_terminal("tty && stty size && read line && echo got $line").await;
        agent.write(&exec.id, "it\n").await;
        let run = agent.finish(&exec.id).await;
        assert!(
            run.output().contains("/dev/pts/") && run.output().contains("got it"),
            "{}",
            run.output()
        );
        let exec = agent
            .sh("trap 'echo cleaned up; exit 3' TERM; echo ready; while :; do sleep 0.05; done")
            .await;
        until("it is ready", async || !agent.output_now(&exec.id, "").await.is_empty()).await;
        agent.signal_exec(&exec.id, "SIGTERM").await;
        let run = agent.finish(&exec.id).await;
        assert_eq!((run.exit_code(), run.stdout()), (3, "ready\ncleaned up\n".into()));
        let health = agent.anonymous(Method::GET, "/health").send();
        let health: Value = within(health).await.unwrap().json().await.unwrap();
        assert_eq!(health["policy"], policy);
        let policy_now = agent.request(Method::GET, "/api/v1/policy").send();
        let policy_now: Value = within(policy_now).await.unwrap().json().await.unwrap();
        assert_eq!(policy_now["presets"].as_array().unwrap().last().unwrap(), policy);
    }
}

#[tokio::test]
async fn what_is_the_agents_is_out_of_reach() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "workspace"]);
    let state = walled.agent.state.display();
    walled
        .refuses(&[
            &format!("ls {state}/execs"),
            &format!("cat {state}/admin-token"),
            &format!("echo evil > {state}/evil"),
            "grep -az SANDPIPE_ADMIN_TOKEN /proc/*/environ",
            "cat /proc/1/environ",
            "cat /proc/1/mem",
            "ls /proc/1/root/",
            "readlink /proc/1/fd/0",
            &format!("kill -0 {}", walled.agent.pid()),
            "touch /etc/evil",
            "unshare -U true",
            "mkdir .git",
            "test -n \"$(grep CapEff:.*[1-9a-f] /proc/self/status)\"",
        ])
        .await;
    let run = walled
        .agent
        .run("echo $$ $PPID; kill -9 1; kill -STOP -1; echo made > made; cat made")
        .await;
    assert!(run.output().contains("made"), "{}", run.output());
    assert_eq!(fs::read_to_string(walled.workspace.path().join("made")).unwrap(), "made\n");
    assert_eq!(walled.agent.run("exit 4").await.exit_code(), 4);
}

#[tokio::test]
async fn nothing_is_left_of_a_box_behind_walls() {
    if !walls() {
        return;
    }
    let mark = format!("{}.25", 100_000 + std::process::id());
    let left = || {
        let found = Command::new("pgrep").args(["-f", &format!("sleep {mark}")]).output().unwrap();
        !found.stdout.is_empty()
    };
    let mut walled = Walled::start(&["--policy", "offline"]);
    walled.agent.run(&format!("setsid -f sleep {mark}; (setsid sleep {mark} &) ")).await;
    let placeholder = walled.workspace.path().join(".git");
    assert!(placeholder.exists());
    walled.agent.sh(&format!("sleep {mark}")).await;
    until("it runs", async || left()).await;
    walled.agent.kill();
    until("nothing is left", async || !left()).await;
    // What was only mounted on stays where nobody is left to remove it: it is empty.
    assert_eq!(fs::read_dir(&placeholder).unwrap().count(), 0);
    let walled = Walled::start(&["--policy", "offline"]);
    walled.agent.run("true").await;
    let placeholder = walled.workspace.path().join(".git");
    assert!(placeholder.exists());
    let bubblewrap =
        Command::new("pgrep").args(["-P", &walled.agent.pid().to_string()]).output().unwrap();
    let pid = String::from_utf8(bubblewrap.stdout).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    assert_eq!(walled.agent.run("exit 5").await.exit_code(), 5);
    drop(walled.agent);
    until("it is removed", async || !placeholder.exists()).await;
}

#[tokio::test]
async fn hosts_that_are_named_are_reached_and_no_others() {
    if !walls() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            // It may come in parts.
            while !request.ends_with(b"\r\n\r\n") {
                let mut some = [0; 4096];
                let count = stream.read(&mut some).unwrap();
                assert!(count > 0, "{request:?}");
                request.extend_from_slice(&some[..count]);
            }
            let request = String::from_utf8_lossy(&request).replace("\r\n", "|");
            let _gone = stream.write_all(
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{request}").as_bytes(),
            );
        }
    });
    let allowed = format!("localhost:{port}");
    let walled = Walled::start(&[
        "--policy",
        "workspace",
        "--allow-net",
        &allowed,
        "--allow-net",
        "*.invalid",
    ]);
    let via = |request: &str| {
        format!("exec 3<>/dev/tcp/127.0.0.1/57469 && printf '{request}' >&3 && timeout 20 cat <&3")
    };
    let bash = async |script: &str| {
        let exec = walled.agent.create(json!({ "command": "bash", "args": ["-c", script] })).await;
        walled.agent.finish(&exec.id).await.output()
    };
    let tunnel =
        bash(&via(&format!("CONNECT {allowed} HTTP/1.1\\r\\n\\r\\nGET /x HTTP/1.0\\r\\n\\r\\n")))
            .await;
    assert!(
        tunnel.contains("200 Connection established") && tunnel.contains("GET /x HTTP/1.0||"),
        "{tunnel}"
    );
    let passed = bash(&via(&format!(
        "GET http://{allowed}/y HTTP/1.1\\r\\nProxy-Connection: x\\r\\n\\r\\n"
    )))
    .await;
    assert!(
        passed.ends_with(&format!("GET /y HTTP/1.1|Host: {allowed}|Connection: close||")),
        "{passed}"
    );
    let socks = format!(
        "\\x05\\x01\\x00\\x05\\x01\\x00\\x03\\x09localhost\\x{:02x}\\x{:02x}GET /z HTTP/1.0\\r\\n\\r\\n",
        port >> 8,
        port & 0xff
    );
    assert!(bash(&via(&socks)).await.contains("GET /z HTTP/1.0||"));
    for other in [
        format!("127.0.0.1:{port}"),
        "localhost:1".into(),
        "example.com:443".into(),
        "169.254.169.254:80".into(),
        format!("[::1]:{port}"),
    ] {
        let answer = bash(&via(&format!("CONNECT {other} HTTP/1.1\\r\\n\\r\\n"))).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{other}: {answer}");
        assert!(
            answer.contains(&format!("no rule of the policy's network.allow names {other}")),
            "{answer}"
        );
    }
    let unknown = bash(&via("CONNECT no-such-name.invalid:80 HTTP/1.1\\r\\n\\r\\n")).await;
    assert!(unknown.starts_with("HTTP/1.1 502 "), "{unknown}");
    let direct = bash(&format!("echo > /dev/tcp/127.0.0.1/{port} && echo DONE")).await;
    assert!(!direct.contains("DONE"), "{direct}");
    let udp = bash("echo x > /dev/udp/192.0.2.1/53 && echo DONE").await;
    assert!(!udp.contains("DONE"), "{udp}");
    assert!(bash("echo $https_proxy").await.contains("http://127.0.0.1:57469"));
}

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
        assert_eq!(fs::metadata(walled.workspace.path().join("large")).unwrap().len(), 65_536);
        assert!([128 + 24, 128 + 9].contains(&agent.run("while :; do :; done").await.exit_code()));
        assert_eq!(agent.run("exit 6").await.exit_code(), 6);
    }
}

#[test]
fn an_agent_that_can_not_hold_its_policy_does_not_start() {
    let directory = TempDir::new().unwrap();
    let workspace = directory.path().join("workspace");
    fs::create_dir(&workspace).unwrap();
    let with = |args: &[&str], path: Option<&Path>| {
        let mut command = agent_command(&directory.path().join("state"));
        command.arg("--workspace").arg(&workspace).args(args);
        if let Some(path) = path {
            command.env("PATH", path);
        }
        refused(&mut command)
    };
    let programs = directory.path().join("programs");
    fs::create_dir(&programs).unwrap();
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(error.contains("apt-get install bubblewrap"), "{error}");
    let fake = |script: &str| {
        let path = programs.join("bwrap");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    fake("echo bubblewrap 0.4.1");
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(error.contains("is version 0.4.1, and a policy needs 0.5.0 or later"), "{error}");
    fake(
        "test \"$1\" = --version && echo bubblewrap 0.8.0 || { echo bwrap: No permissions to create new namespace >&2; exit 1; }",
    );
    let error = with(&["--policy", "workspace"], Some(&programs));
    assert!(
        error
            .contains("can't make namespaces here (bwrap: No permissions to create new namespace)"),
        "{error}"
    );
    for (args, message) in [
        (&["--policy", "workspaec"][..], "it is neither a preset nor a file"),
        (&["--policy", "workspace", "--allow-write", "./dist"], "there is no "),
        (&["--max-memory", "1GiB"], "limits.memory can't be held"),
        (&["--max-wall-time", "1min"], "limits.wallTime can't be held"),
    ] {
        let error = with(args, None);
        assert!(error.contains(message), "{args:?}: {error}");
    }
    let policy = directory.path().join("policy.json");
    fs::write(&policy, r#"{ "limits": { "memroy": "1 GiB" } }"#).unwrap();
    let error = with(&["--policy", policy.to_str().unwrap()], None);
    assert!(error.contains("limits.memroy: unknown field `memroy`"), "{error}");
}
