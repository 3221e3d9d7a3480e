//! Commands: their exit codes, arguments, environment, directory and user.

use std::{
    fs::OpenOptions,
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
};

use nix::{
    fcntl::OFlag,
    pty::{grantpt, posix_openpt, ptsname_r, unlockpt},
};
use reqwest::StatusCode;
use sandpipe_protocol::ExecStatus;
use serde_json::json;

use crate::support::{Agent, READONLY, needs_root, run_by, set_mode, stat_of, under};

#[tokio::test]
async fn both_streams_and_the_exit_code_arrive() {
    let agent = Agent::start();
    let finished = agent.run("echo hello; echo oops >&2; exit 3").await;
    assert_eq!(finished.exit_code(), 3);
    assert_eq!(finished.output(), "hello\noops\n");
    assert_eq!((finished.stdout(), finished.stderr()), ("hello\n".into(), "oops\n".into()));
    assert_eq!(finished.sequences(), [1, 2, 3]);
    assert!(finished.0.iter().all(|event| event.timestamp.is_some()));
}

#[tokio::test]
async fn exit_codes_are_those_of_a_shell() {
    let agent = Agent::start();
    for (script, code) in [
        ("exit 0", 0),
        ("exit 255", 255),
        ("kill -9 $$", 137),
        ("kill -INT $$", 130),
        ("kill -TERM $$", 143),
        ("kill -HUP $$", 129),
        ("kill -PIPE $$", 141),
    ] {
        assert_eq!(agent.run(script).await.exit_code(), code, "{script}");
    }
}

#[tokio::test]
async fn a_real_time_signal_ends_a_command_like_any_other() {
    let agent = Agent::start();
    assert_eq!(agent.run("kill -34 $$").await.exit_code(), 162);
    assert_eq!(agent.run("kill -64 $$").await.exit_code(), 192);
    // It does not keep the agent from seeing others end.
    assert_eq!(agent.run("exit 3").await.exit_code(), 3);
}

#[tokio::test]
async fn an_item_shows_how_far_it_has_come() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "sh", "args": ["-c", "read x; exit 7"] })).await;
    assert_eq!((exec.status, exec.exit_code, exec.user), (ExecStatus::Running, -1, None));
    assert!(exec.pid > 0);
    agent.write(&exec.id, "\n").await;
    agent.finish(&exec.id).await;
    let ended = agent.get(&exec.id).await;
    assert_eq!((ended.status, ended.exit_code, ended.pid), (ExecStatus::Exited, 7, exec.pid));
}

#[tokio::test]
async fn a_command_that_does_not_exist_is_the_result_127() {
    let agent = Agent::start();
    for command in ["no-such-command-7", "/no/such/file", "/dev/null/x"] {
        let exec = agent.create(json!({ "command": command, "args": [] })).await;
        assert_eq!((exec.status, exec.exit_code, exec.pid), (ExecStatus::Exited, 127, 0));
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 127);
        let reason = finished.stderr();
        assert!(reason.starts_with(&format!("sandpipe-agent: {command}: ")), "{reason}");
        assert!(reason.ends_with('\n'));
        assert_eq!(finished.stdout(), "");
    }
    let missing = agent.create(json!({ "command": "no-such-command-7", "args": [] })).await;
    let reason = agent.finish(&missing.id).await.stderr();
    assert_eq!(reason, "sandpipe-agent: no-such-command-7: No such file or directory\n");
}

#[tokio::test]
async fn a_directory_of_the_path_that_cant_be_used_does_not_hide_that_a_command_is_missing() {
    let agent = Agent::start();
    let directory = tempfile::tempdir().unwrap();
    // A file is no directory: the search meets an error at it.
    std::fs::write(directory.path().join("found"), "").unwrap();
    std::fs::write(directory.path().join("closed"), "").unwrap();
    let path = format!("{0}/closed:{0}", directory.path().display());
    for (command, code) in [("missing", 127), ("found", 126)] {
        let request = json!({ "command": command, "args": [], "env": { "PATH": path } });
        assert_eq!(agent.create(request).await.exit_code, code, "{command}");
    }
    if nix::unistd::geteuid().is_root() {
        let closed = directory.path().join("private");
        std::fs::create_dir(&closed).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
        let env = json!({ "PATH": closed.display().to_string() });
        let request = json!({ "command": "missing", "args": [], "env": env, "user": "nobody" });
        assert_eq!(agent.create(request).await.exit_code, 127);
    }
}

#[tokio::test]
async fn a_command_is_looked_for_in_the_path_and_may_be_a_script_without_a_first_line_that_says_so()
{
    let agent = Agent::start();
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path().canonicalize().unwrap();
    let tool = directory.join("tool");
    std::fs::write(&tool, "echo \"$0 $1\"; exit 3\n").unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (directory, tool) = (directory.display().to_string(), tool.display().to_string());
    for (path, command, run) in [
        (format!("/no/such/directory:/etc/passwd:{directory}:/bin"), "tool", tool.as_str()),
        // An empty part is the current directory.
        (String::new(), "tool", "tool"),
        ("/bin::/usr/bin".into(), "tool", "tool"),
        ("/bin".into(), "./tool", "./tool"),
        ("/bin".into(), &tool, &tool),
    ] {
        let request = json!({
            "command": command, "args": ["x"], "cwd": directory, "env": { "PATH": path },
        });
        let exec = agent.create(request).await;
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.output(), format!("{run} x\n"), "{path}");
        assert_eq!(finished.exit_code(), 3);
    }
}

#[tokio::test]
async fn a_command_that_cant_be_executed_is_the_result_126() {
    let agent = Agent::start();
    for command in ["/etc/passwd", "/", "/etc"] {
        let exec = agent.create(json!({ "command": command, "args": [] })).await;
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 126, "{command}");
        assert!(finished.stderr().contains("Permission denied"), "{}", finished.stderr());
    }
}

#[tokio::test]
async fn too_long_arguments_or_environment_are_the_result_126() {
    let agent = Agent::start();
    let long = "x".repeat(200 * 1024);
    let many = vec!["y".repeat(100 * 1024); 64];
    for request in [
        json!({ "command": "true", "args": [long] }),
        json!({ "command": "true", "args": many }),
        json!({ "command": "true", "args": [], "env": { "LONG": long } }),
    ] {
        let exec = agent.create(request).await;
        let finished = agent.finish(&exec.id).await;
        assert_eq!(finished.exit_code(), 126);
        let reason = finished.stderr();
        assert!(reason.contains("Argument list too long"), "{reason}");
        assert!(reason.contains("environment"), "{reason}");
    }
}

#[tokio::test]
async fn arguments_and_environment_arrive_byte_for_byte() {
    let agent = Agent::start();
    let values = [
        "",
        " ",
        "two words",
        "'single' \"double\"",
        "$HOME `id` $(id) \\",
        "line\nline\r\n\ttab",
        "\u{1F600} \u{e9}\u{FEFF}",
        "*?[a-z]",
        "--",
        "\u{1}\u{7f}",
    ];
    let args = [["%s\\0"].as_slice(), &values].concat();
    let exec = agent.create(json!({ "command": "printf", "args": args }));
    let finished = agent.finish(&exec.await.id).await;
    assert_eq!(finished.output(), values.map(|value| format!("{value}\0")).concat());

    for value in values {
        let exec = agent.create(json!({
            "command": "printenv", "args": ["-0", "VALUE"], "env": { "VALUE": value },
        }));
        assert_eq!(agent.finish(&exec.await.id).await.output(), format!("{value}\0"));
    }
}

#[tokio::test]
async fn the_environment_is_the_agents_without_its_own_settings() {
    let agent = Agent::with(|command| {
        command.env("FROM_OUTSIDE", "yes").env("SANDPIPE_ANYTHING", "secret");
    });
    let exec = agent.create(json!({ "command": "env", "args": [], "env": { "ADDED": "1" } })).await;
    let output = agent.finish(&exec.id).await.output();
    assert!(output.contains("FROM_OUTSIDE=yes\n"), "{output}");
    assert!(output.contains("ADDED=1\n"), "{output}");
    // The namespace of background processes, and the mark of a command where there are no cgroups.
    let of_commands = ["SANDPIPE_NAMESPACE=agent-", "SANDPIPE_EXEC="];
    let own = output.lines().find(|line| {
        line.starts_with("SANDPIPE_") && !of_commands.iter().any(|name| line.starts_with(name))
    });
    assert_eq!((own, output.contains(READONLY)), (None, false), "{output}");
}

#[tokio::test]
async fn a_path_in_the_request_decides_where_a_command_is_looked_for() {
    let agent = Agent::start();
    let exec = agent.create(json!({ "command": "sh", "args": [], "env": { "PATH": "/nowhere" } }));
    assert_eq!(exec.await.exit_code, 127);
}

#[tokio::test]
async fn the_directory_is_the_workspace_or_what_was_asked_for() {
    let workspace = tempfile::tempdir().unwrap();
    let real = workspace.path().canonicalize().unwrap();
    std::fs::create_dir(real.join("inner")).unwrap();
    let agent = Agent::with(|command| {
        command.arg("--workspace").arg(workspace.path());
    });
    assert_eq!(agent.run("pwd").await.output(), format!("{}\n", real.display()));
    for (cwd, expected) in [("/", "/".into()), ("inner", real.join("inner"))] {
        let exec = agent.create(json!({ "command": "pwd", "args": [], "cwd": cwd })).await;
        assert_eq!(agent.finish(&exec.id).await.output(), format!("{}\n", expected.display()));
    }
    // A relative command is relative to that directory.
    let exec = agent.create(json!({ "command": "./sh", "args": ["-c", "exit 4"], "cwd": "/bin" }));
    assert_eq!(agent.finish(&exec.await.id).await.exit_code(), 4);
}

#[tokio::test]
async fn what_no_process_could_be_given_is_a_bad_request() {
    let agent = Agent::start();
    for (request, part) in [
        (json!({ "command": "", "args": [] }), "command"),
        (json!({ "command": "a\0b", "args": [] }), "NUL"),
        (json!({ "command": "true", "args": ["a\0b"] }), "NUL"),
        (json!({ "command": "true", "args": [], "env": { "A=B": "" } }), "A=B"),
        (json!({ "command": "true", "args": [], "env": { "": "x" } }), "env"),
        (json!({ "command": "true", "args": [], "cwd": "/no/such" }), "/no/such"),
        (json!({ "command": "true", "args": [], "cwd": "/dev/null" }), "/dev/null"),
        (json!({ "command": "true", "args": [], "user": "no-such-user-7" }), "no-such-user-7"),
        (json!({ "command": "true", "args": [], "user": ":no-such-group-7" }), "no-such-group-7"),
        (json!({ "command": "true", "args": [], "user": ":" }), "USER"),
        // Its group is nobody's to guess.
        (json!({ "command": "true", "args": [], "user": "3999999999" }), "3999999999:GROUP"),
        // -1 means "leave it as it is" to the system.
        (json!({ "command": "true", "args": [], "user": "4294967295" }), "4294967295"),
        (json!({ "command": "true", "args": [], "user": ":4294967295" }), "4294967295"),
    ] {
        let response = agent.try_create(request.clone()).await;
        assert_eq!(response.status(), 400, "{request}");
        let error: serde_json::Value = response.json().await.unwrap();
        assert_eq!(error["code"], 400);
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    assert_eq!(agent.list().await, []);
}

#[tokio::test]
async fn a_command_runs_as_the_user_that_was_asked_for() {
    let agent = Agent::start();
    let request = |user: &str| {
        let script = "id -u; id -g; id -G; echo $USER $LOGNAME $HOME";
        json!({ "command": "sh", "args": ["-c", script], "user": user, "cwd": "/" })
    };
    if nix::unistd::geteuid().is_root() {
        let exec = agent.create(request("nobody")).await;
        assert_eq!(exec.user.as_deref(), Some("65534:65534"));
        let output = agent.finish(&exec.id).await.output();
        let home = nix::unistd::User::from_name("nobody").unwrap().unwrap().dir;
        assert_eq!(output, format!("65534\n65534\n65534\nnobody nobody {}\n", home.display()));
        let exec = agent.create(request("12345:54321")).await;
        assert_eq!(exec.user.as_deref(), Some("12345:54321"));
        assert_eq!(agent.finish(&exec.id).await.output(), "12345\n54321\n54321\n/\n");
        // The group alone.
        let exec = agent.create(request(":54321")).await;
        let output = agent.finish(&exec.id).await.output();
        assert!(output.starts_with("0\n54321\n"), "{output}");
    } else {
        let response = agent.try_create(request("0:0")).await;
        assert_eq!(response.status(), 400);
        assert!(response.text().await.unwrap().contains("root"));
    }
}

#[tokio::test]
async fn another_user_can_open_its_streams_by_name() {
    if !needs_root("run commands as another user") {
        return;
    }
    let agent = Agent::start();
    let script = "echo out > /dev/stdout; echo err > /dev/stderr; head -n 1 < /dev/stdin";
    let request = json!({ "command": "sh", "args": ["-c", script], "user": "nobody", "cwd": "/" });
    let exec = agent.create(request).await;
    agent.write(&exec.id, "in\n").await;
    let finished = agent.finish(&exec.id).await;
    assert_eq!(finished.stdout(), "out\nin\n", "{}", finished.stderr());
    assert_eq!(finished.stderr(), "err\n");
}

#[tokio::test]
async fn a_directory_is_entered_with_the_rights_of_the_command() {
    if !needs_root("run commands as another user") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let agent = Agent::start();
    let request =
        |user: &str| json!({ "command": "ls", "args": [], "user": user, "cwd": inner.clone() });
    for (mode, status) in [(0o700, StatusCode::BAD_REQUEST), (0o711, StatusCode::CREATED)] {
        set_mode(directory.path(), mode);
        let response = agent.try_create(request("nobody")).await;
        assert_eq!(response.status(), status, "{mode:o}");
        assert_eq!(agent.try_create(request("0:0")).await.status(), StatusCode::CREATED);
    }
}

#[tokio::test]
async fn a_default_user_stands_in_for_one_that_was_not_asked_for() {
    let own = nix::unistd::geteuid();
    let user = if own.is_root() { "nobody".to_owned() } else { own.to_string() };
    let agent = Agent::with_args(&["--default-user", &user, "--workspace", "/"]);
    let exec = agent.sh("id -u").await;
    let uid = exec.user.unwrap().split(':').next().unwrap().to_owned();
    assert_eq!(agent.finish(&exec.id).await.output(), format!("{uid}\n"));
}

#[tokio::test]
async fn a_signal_that_the_agents_parent_ignored_still_ends_commands() {
    // The shell ignores the signals, and exec keeps them ignored.
    let shell = ["sh", "-c", "trap '' INT HUP QUIT; exec \"$@\""];
    let agent = Agent::with(|command| run_by(command, &shell));
    assert_eq!(agent.run("kill -INT $$; echo ignored").await.exit_code(), 130);
    assert_eq!(agent.run("kill -HUP $$; echo ignored").await.exit_code(), 129);
    assert_eq!(agent.run("kill -QUIT $$; echo ignored").await.exit_code(), 131);
}

#[tokio::test]
async fn signals_that_the_agents_parent_blocked_still_reach_the_agent() {
    let mut agent = Agent::with(|command| run_by(command, &["env", "--block-signal"]));
    assert_eq!(agent.run("exit 3").await.exit_code(), 3);
    agent.signal(nix::sys::signal::Signal::SIGTERM);
    assert!(agent.ended().await.success());
}

#[tokio::test]
async fn a_command_without_a_terminal_has_none_of_the_agents_either() {
    let master = posix_openpt(OFlag::O_RDWR | OFlag::O_NOCTTY | OFlag::O_CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let terminal = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlag::O_NOCTTY.bits())
        .open(ptsname_r(&master).unwrap())
        .unwrap();
    let agent = Agent::with(|command| {
        run_by(command, &["setsid", "--ctty"]);
        command.stdin(terminal);
    });
    // The agent itself has one: else this would show nothing.
    assert_ne!(stat_of(agent.pid(), 4), Some(0));
    let exec = agent.sh("export LC_ALL=C; exec 3<>/dev/tty").await;
    let finished = agent.finish(&exec.id).await;
    assert_ne!(finished.exit_code(), 0);
    // ENXIO: there is no terminal behind the name.
    let reason = finished.stderr();
    assert!(reason.contains("No such device or address"), "{reason}");
    // It still leads a group of its own number.
    let own = agent.run("ps -o pid= -o pgid= -p $$ | tr -s ' '").await.output();
    let mut numbers = own.split_whitespace();
    assert_eq!(numbers.next().unwrap(), numbers.next().unwrap());
}

#[tokio::test]
async fn a_command_has_the_limit_on_open_files_that_the_agent_was_given() {
    // This process's own may be changed by another test.
    let agent = Agent::with(|command| under(command, "--nofile=700:"));
    assert_eq!(agent.run("ulimit -n").await.output(), "700\n");
}

#[tokio::test]
async fn two_hundred_at_once_have_each_its_own_code_and_output() {
    let agent = std::sync::Arc::new(Agent::start());
    let runs = (0..200).map(|number| {
        let agent = std::sync::Arc::clone(&agent);
        tokio::spawn(async move {
            let script = format!("read x; echo out-{number}; echo err-{number} >&2; exit {number}");
            let exec = agent.sh(&script).await;
            assert_eq!(agent.write(&exec.id, "go\n").await.status(), 200);
            let finished = agent.finish(&exec.id).await;
            assert_eq!(finished.exit_code(), number);
            assert_eq!(finished.output(), format!("out-{number}\nerr-{number}\n"));
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
    assert_eq!(agent.list().await.len(), 200);
}
