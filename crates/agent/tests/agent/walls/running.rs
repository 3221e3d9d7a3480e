use std::{fs, path::Path, process::Command, sync::Arc};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::{Method, RequestBuilder};
use sandpipe_protocol::MAX_EVENT_OUTPUT;
use serde_json::{Value, json};

use super::{User, Walled, users, walls};
use crate::{
    crash::{agent_dies_at_any_moment, box_dies_at_any_moment},
    support::{
        Agent, READONLY, children_of, marked, marked_script, needs_root, none_is_left, run_by,
        until, within,
    },
};

/// Every preset with walls, for every user.
fn each_policy() -> impl Iterator<Item = (User, &'static str)> {
    let policies = ["workspace", "offline", "strict"];
    users().iter().flat_map(move |user| policies.map(|policy| (*user, policy)))
}

#[tokio::test]
async fn a_command_runs_behind_walls_as_without() {
    if !walls() {
        return;
    }
    for (user, policy) in each_policy() {
        let walled = Walled::start_as(user, &["--policy", policy]);
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
async fn no_program_gets_a_capability() {
    if !walls() {
        return;
    }
    for user in users() {
        let walled = Walled::start_as(*user, &["--policy", "workspace"]);
        let sets = walled.agent.run("grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/self/status").await;
        let is_empty = |line: &str| line.ends_with(":\t0000000000000000");
        assert!(sets.output().lines().all(is_empty), "{user:?}: {}", sets.output());
        assert_eq!(sets.output().lines().count(), 4);
    }
    if !needs_root("run commands as other users") {
        return;
    }
    // The box can still do what it has to.
    let walled = Walled::start_as(User::Root, &["--policy", "workspace"]);
    let script = "id -u; grep -E '^Cap(Prm|Eff|Bnd)' /proc/self/status; exec sleep 600";
    let create = json!({ "command": "sh", "args": ["-c", script], "user": "nobody" });
    let exec = walled.agent.create(create).await;
    let sets = "CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n";
    let output =
        walled.agent.stream(&exec.id, "").await.until_output("CapBnd:\t0000000000000000\n").await;
    assert_eq!(output, format!("65534\n{sets}"));
    assert_eq!(walled.agent.delete(&exec.id).await.status(), 200);
}

#[tokio::test]
async fn what_is_hidden_is_hidden_at_its_other_mounts() {
    if !walls() || !needs_root("mount something") {
        return;
    }
    let fill = |_: &Path, home: &Path| {
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id_ed25519"), "secret\n").unwrap();
        fs::write(home.join(".netrc"), "secret\n").unwrap();
        fs::write(home.join("open"), "open\n").unwrap();
        for name in ["other", "above"] {
            fs::create_dir(home.with_file_name(name)).unwrap();
        }
    };
    let walled = Walled::start_with(
        User::Root,
        &["--policy", "workspace"],
        fill,
        |command, home| {
            let root = home.parent().unwrap();
            let mount = "mount --bind \"$0/home\" \"$0/other\" && mount --bind \"$0\" \"$0/above\" && shift && exec \"$@\"";
            // The mounts are this agent's alone, and go with it.
            run_by(command, &["unshare", "-m", "sh", "-c", mount, root.to_str().unwrap()]);
        },
    );
    let root = walled.home.parent().unwrap().display();
    for home in ["home", "other", "above/home"] {
        let script = format!("cd '{root}/{home}' && cat open; cat .ssh/id_ed25519 .netrc");
        assert_eq!(walled.agent.run(&script).await.stdout(), "open\n", "{home}");
    }
    let state = walled.agent.state.file_name().unwrap().display();
    walled.refuses(&[&format!("ls '{root}/above/{state}/execs'")]).await;
}

#[tokio::test]
async fn values_that_a_policy_sets_are_not_for_the_read_only_token() {
    let agent = Agent::with_args(&[
        "--policy",
        "open",
        "--set-env",
        "DEPLOY=a secret",
        "--set-env",
        "TZ=UTC",
    ]);
    let policy = async |request: RequestBuilder| -> Value {
        within(request.send()).await.unwrap().json().await.unwrap()
    };
    let path = "/api/v1/policy";
    let read_only = policy(agent.anonymous(Method::GET, path).bearer_auth(READONLY)).await;
    assert_eq!(read_only["set"], json!({ "DEPLOY": null, "TZ": null }));
    assert!(!read_only.to_string().contains("a secret"), "{read_only}");
    let admin = policy(agent.request(Method::GET, path)).await;
    assert_eq!(admin["set"], json!({ "DEPLOY": "a secret", "TZ": "UTC" }));
}

#[tokio::test]
async fn what_is_the_agents_is_out_of_reach() {
    if !walls() {
        return;
    }
    for user in users() {
        is_out_of_reach(*user).await;
    }
}

async fn is_out_of_reach(user: User) {
    let walled = Walled::start_as(user, &["--policy", "workspace"]);
    let state = format!("'{}'", walled.agent.state.display());
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
    assert_eq!(fs::read_to_string(walled.workspace.join("made")).unwrap(), "made\n");
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
    let placeholder = walled.workspace.join(".git");
    assert!(placeholder.exists());
    walled.agent.sh(&format!("sleep {mark}")).await;
    until("it runs", async || left()).await;
    walled.agent.kill();
    until("nothing is left", async || !left()).await;
    // What was only mounted on stays where nobody is left to remove it: it is empty.
    assert_eq!(fs::read_dir(&placeholder).unwrap().count(), 0);
    let walled = Walled::start(&["--policy", "offline"]);
    walled.agent.run("true").await;
    let placeholder = walled.workspace.join(".git");
    assert!(placeholder.exists());
    kill(Pid::from_raw(walled.agent.box_pid().cast_signed()), Signal::SIGKILL).unwrap();
    // What is asked of a box that is dying may have been begun.
    until("the box is gone", async || children_of(walled.agent.pid()).is_empty()).await;
    assert_eq!(walled.agent.run("exit 5").await.exit_code(), 5);
    drop(walled.agent);
    until("it is removed", async || !placeholder.exists()).await;
}

#[tokio::test]
async fn a_box_behind_walls_may_die_at_any_moment() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "workspace"]);
    box_dies_at_any_moment(walled.agent, &walled.workspace).await;
}

#[tokio::test]
async fn an_agent_with_walls_may_die_at_any_moment() {
    if !walls() {
        return;
    }
    let walled = Walled::start(&["--policy", "workspace"]);
    let args = ["--policy", "workspace", "--workspace", walled.workspace.to_str().unwrap()];
    agent_dies_at_any_moment(walled.agent, &walled.workspace, &args).await;
}

#[tokio::test]
async fn many_commands_at_once_much_output_and_input_are_as_without_walls() {
    let with_walls = each_policy().filter({
        let can = walls();
        move |_| can
    });
    for (user, policy) in with_walls.chain(users().iter().map(|user| (*user, "open"))) {
        let walled = Walled::start_as(user, &["--policy", policy, "--spool-limit", "256MiB"]);
        let agent = Arc::new(walled.agent);
        let runs = (0..200).map(|number| {
            let agent = Arc::clone(&agent);
            tokio::spawn(async move {
                let run = agent.run(&format!("echo {number}; exit {}", number % 100)).await;
                (number, run.exit_code(), run.stdout())
            })
        });
        for run in runs.collect::<Vec<_>>() {
            let (number, code, output) = run.await.unwrap();
            assert_eq!((code, output), (number % 100, format!("{number}\n")), "{policy}");
        }
        let exec = agent.sh("cat; exit 6").await;
        agent.write(&exec.id, "from elsewhere\n").await;
        agent.send(&exec.id, "eof", "").await;
        let run = agent.finish(&exec.id).await;
        assert_eq!((run.exit_code(), run.stdout()), (6, "from elsewhere\n".into()), "{policy}");
        let length_of_all = 100 << 20;
        let script = format!("yes 0123456789abcde | head -c {length_of_all}; exit 8");
        let exec = agent.sh(&script).await;
        let mut stream = agent.stream(&exec.id, "").await;
        let (mut length, mut code) = (0, None);
        // Compared as a block: byte by byte it takes longer than all else.
        let lines = "0123456789abcde\n".repeat(MAX_EVENT_OUTPUT / 16 + 1);
        while let Some(event) = stream.next_output().await {
            let begin = length % 16;
            let expected = lines.get(begin..begin + event.output.len());
            assert!(Some(&*event.output) == expected, "{policy}");
            length += event.output.len();
            code = event.exit_code;
        }
        assert_eq!((length, code), (length_of_all, Some(8)), "{user:?} {policy}");
    }
}

/// Ends when what it leaves behind has left its process group, whose members a delete kills.
const LEAVES: &str = "setsid -f sh -c 'echo >/tmp/left; while :; do sleep 600; done'; \
    until [ -s /tmp/left ]; do sleep 0.01; done; exit 2";

#[tokio::test]
async fn what_is_to_outlive_its_command_does_so_until_the_agent_ends() {
    if !walls() {
        return;
    }
    for (user, policy) in each_policy() {
        let mut walled = Walled::start_as(user, &["--policy", policy]);
        let marker = format!("outlives {user:?} {policy}");
        let mut body = marked_script(LEAVES, &marker, false);
        body["contain"] = false.into();
        let exec = walled.agent.create(body).await;
        assert_eq!(walled.agent.finish(&exec.id).await.exit_code(), 2);
        assert_eq!(walled.agent.delete(&exec.id).await.status(), 200);
        assert!(!marked(&marker).is_empty(), "{user:?} {policy}");
        walled.agent.signal(Signal::SIGTERM);
        walled.agent.ended().await;
        none_is_left(&marker).await;
    }
}

#[tokio::test]
async fn commands_of_another_user_are_its_own_and_are_stopped_wherever_they_went() {
    if !walls() || !needs_root("run commands as another user") {
        return;
    }
    let walled = Walled::start_as(User::Root, &["--policy", "workspace"]);
    let agent = &walled.agent;
    let marker = "another user";
    for pty in [false, true] {
        let script = "setsid sh -c 'setsid sleep 600 &'; id -u; \
            grep -c 'Cap[EPIA]..:.*[1-9a-f]' /proc/self/status; echo ready; sleep 600";
        let mut body = marked_script(script, marker, pty);
        body["user"] = "nobody".into();
        let exec = agent.create(body).await;
        let output = agent.stream(&exec.id, "").await.until_output("ready").await;
        assert_eq!(output.replace('\r', ""), "65534\n0\nready\n");
        until("all of it runs", async || marked(marker).len() >= 2).await;
        assert_eq!(agent.delete(&exec.id).await.status(), 200);
        none_is_left(marker).await;
    }
}

#[tokio::test]
async fn a_command_that_has_itself_traced_goes_on_with_its_signals() {
    let policies = if walls() { &["open", "workspace"][..] } else { &["open"] };
    for user in users() {
        for policy in policies {
            let walled = Walled::start_as(*user, &["--policy", policy]);
            let agent = &walled.agent;
            let call = nix::libc::SYS_ptrace.to_string();
            let script = r#"$| = 1; syscall(shift() + 0, 0, 0, 0, 0) == 0 or die; print "ready\n"; sleep 600"#;
            let exec =
                agent.create(json!({ "command": "perl", "args": ["-e", script, call] })).await;
            agent.stream(&exec.id, "").await.until_output("ready").await;
            // Neither a stop and its end are kept from it, nor what ends it.
            for signal in ["SIGWINCH", "SIGSTOP", "SIGCONT", "SIGTERM"] {
                agent.signal_exec(&exec.id, signal).await;
            }
            let end = within(agent.finish(&exec.id)).await;
            assert_eq!(end.exit_code(), 143, "{user:?} {policy}");
            // One that executes another program is stopped by the kernel, for its tracer.
            let script =
                r#"syscall(shift() + 0, 0, 0, 0, 0) == 0 or die; exec "sh", "-c", "exit 5""#;
            let exec =
                agent.create(json!({ "command": "perl", "args": ["-e", script, call] })).await;
            assert_eq!(within(agent.finish(&exec.id)).await.exit_code(), 5, "{user:?} {policy}");
        }
    }
}
