//! The process that opens files: what it may, what it has, and its ends.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use reqwest::Method;
use serde_json::Value;
use tempfile::TempDir;
use tokio::join;

use super::encoded;
use crate::{
    support::{
        Agent, READONLY, lives, message_of, needs_root, open_files, state_of, status_of, until,
        within,
    },
    walls::{Walled, walls},
};

#[tokio::test]
async fn says_what_is_known_of_a_file() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a file \u{e4}.txt");
    fs::write(&path, "hello").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let agent = Agent::start();
    let info = agent.stat_json(&path).await;
    assert_eq!(info["name"], "a file \u{e4}.txt");
    assert_eq!(info["path"], path.to_str().unwrap());
    assert_eq!((&info["isDir"], &info["size"]), (&false.into(), &5.into()));
    assert_eq!((&info["type"], &info["mode"]), (&"file".into(), &0o640.into()));
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    let expected = humantime::format_rfc3339(modified).to_string();
    assert_eq!(info["modTime"], expected);

    let link = directory.path().join("link");
    symlink("a file \u{e4}.txt", &link).unwrap();
    let info = agent.stat_json(&link).await;
    assert_eq!((&info["type"], &info["size"]), (&"symlink".into(), &5.into()));
    assert_eq!(info["linkTarget"], "a file \u{e4}.txt");
    fs::remove_file(&path).unwrap();
    assert_eq!(agent.stat_json(&link).await["type"], "symlink");
    let missing = agent.stat(&path).await;
    assert_eq!(missing.status(), 404);
    assert!(message_of(missing).await.contains("No such file"));
    assert_eq!(agent.stat(&link.join("below")).await.status(), 404);
}

#[tokio::test]
async fn is_no_exec_and_has_nothing_of_the_agent() {
    let agent = Agent::start();
    assert_eq!(agent.worker_pids(), [] as [u32; 0]);
    agent.stat_json(Path::new("/")).await;
    assert_eq!(agent.list().await, []);
    let [pid] = agent.worker_pids()[..] else { panic!("{:?}", agent.worker_pids()) };
    if !needs_root("look into the worker") {
        return;
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap();
    assert_eq!(environment, b"");
    // When the thread of the conversation has ended, too.
    until("it has its standard streams alone", async || open_files(pid).len() == 3).await;
}

#[tokio::test]
async fn another_takes_its_place_when_it_dies() {
    let agent = Agent::start();
    agent.stat_json(Path::new("/")).await;
    for _ in 0..3 {
        let [pid] = agent.worker_pids()[..] else { panic!("{:?}", agent.worker_pids()) };
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
        until("it is dead", async || !lives(pid)).await;
        agent.stat_json(Path::new("/")).await;
    }
    // The box, too.
    kill(Pid::from_raw(agent.box_pid().cast_signed()), Signal::SIGKILL).unwrap();
    let answered = || async { agent.stat(Path::new("/")).await.status() == 200 };
    until("there is a worker again", answered).await;
}

#[tokio::test]
async fn another_takes_its_place_when_a_command_stops_it() {
    let worker = async |agent: &Agent| {
        agent.stat_json(Path::new("/")).await;
        let [pid] = agent.worker_pids()[..] else { panic!("{:?}", agent.worker_pids()) };
        pid
    };
    let signal = |pid: u32, signal| kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
    // One that goes on in time stays.
    let other = Agent::start();
    let goes_on = worker(&other).await;
    signal(goes_on, Signal::SIGSTOP);
    until("it is stopped", async || state_of(goes_on) == Some('T')).await;
    signal(goes_on, Signal::SIGCONT);
    let stop_all = "for process in /proc/[0-9]*; do
        process=${process#/proc/}
        [ $process = $$ ] || kill -STOP $process
    done 2>/dev/null";
    let replaced = async |policy: &str| {
        let agent = Agent::with(|command| _ = command.args(["--policy", policy]));
        let pid = worker(&agent).await;
        if policy == "open" {
            // There a command could stop the agent, too.
            signal(pid, Signal::SIGSTOP);
        } else {
            agent.run(stop_all).await;
        }
        let in_the_middle = agent.stat(Path::new("/")).await;
        assert_eq!(in_the_middle.status(), 503, "{policy}");
        assert!(message_of(in_the_middle).await.contains("may have been done or not"), "{policy}");
        until("the stopped worker has ended", async || !lives(pid)).await;
        agent.stat_json(Path::new("/")).await;
    };
    if walls() {
        join!(replaced("open"), replaced("strict"));
    } else {
        replaced("open").await;
    }
    assert_eq!(worker(&other).await, goes_on);
}

#[tokio::test]
async fn ends_with_the_agent_however_that_ends() {
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let mut agent = Agent::start();
        agent.stat_json(Path::new("/")).await;
        let [pid] = agent.worker_pids()[..] else { panic!("{:?}", agent.worker_pids()) };
        agent.signal(signal);
        agent.ended().await;
        until("the worker has ended", async || !lives(pid)).await;
    }
}

#[tokio::test]
async fn a_read_only_token_may_not_look() {
    let agent = Agent::start();
    let request = agent.anonymous(Method::GET, "/api/v1/file_stat/x").bearer_auth(READONLY);
    let response = within(request.send()).await.unwrap();
    assert_eq!(response.status(), 403);
    assert!(message_of(response).await.contains("read-only"));
    let request = agent.anonymous(Method::GET, "/api/v1/file_stat/x");
    assert_eq!(within(request.send()).await.unwrap().status(), 401);
}

#[tokio::test]
async fn sees_what_commands_see_behind_walls() {
    if !walls() {
        return;
    }
    let fill = |_: &Path, home: &Path| {
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), "secret").unwrap();
    };
    let user = crate::walls::users()[0];
    let walled = Walled::start_with(user, &["--policy", "workspace"], fill, |_, _| {});
    assert_eq!(walled.agent.stat(&walled.home.join(".ssh/id")).await.status(), 404);
    assert_eq!(walled.agent.stat(&walled.agent.state.join("admin-token")).await.status(), 404);
    // Its `/tmp` is that of the commands.
    let name = format!("/tmp/of-the-box-{}", std::process::id());
    walled.agent.run(&format!("echo hello > {name}")).await;
    assert_eq!(walled.agent.stat_json(Path::new(&name)).await["size"], 6);
    assert!(!Path::new(&name).exists());
    let [pid] = walled.agent.worker_pids()[..] else { panic!("no worker") };
    assert_eq!(status_of(pid, "NoNewPrivs"), Some(1));
}

#[tokio::test]
async fn paths_are_taken_as_they_are_meant() {
    let workspace = TempDir::new().unwrap();
    let workspace = workspace.path().canonicalize().unwrap();
    fs::create_dir_all(workspace.join("a/b")).unwrap();
    let agent = Agent::with(|command| _ = command.arg("--workspace").arg(&workspace));
    let stat = async |path: &str| {
        let request = agent.request(Method::GET, &format!("/api/v1/file_stat/{path}"));
        within(request.send()).await.unwrap()
    };
    let path_of = async |path: &str| {
        let response = stat(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.json::<Value>().await.unwrap()["path"].as_str().unwrap().to_owned()
    };
    let own = workspace.to_str().unwrap();
    assert_eq!(path_of("").await, own);
    assert_eq!(path_of(".%2F").await, own);
    for path in ["a/b", "a%2Fb", "a//b", "a%2F.%2Fb%2F"] {
        assert_eq!(path_of(path).await, format!("{own}/a/b"), "{path}");
    }
    assert_eq!(path_of("a%2F..%2Fa").await, format!("{own}/a/../a"));
    for path in ["/etc", "%2Fetc", "%2F%2Fetc%2F"] {
        assert_eq!(path_of(path).await, "/etc", "{path}");
    }
    assert_eq!(path_of("%2F").await, "/");
    for path in ["%2F..", "a%00b", "..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2F..%2Fetc"] {
        assert_eq!(stat(path).await.status(), 400, "{path}");
    }
}

#[tokio::test]
async fn has_the_rights_of_the_user_and_lets_nobody_look_into_it() {
    if !needs_root("run commands as another user") {
        return;
    }
    let directory = TempDir::new().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = directory.path().join("secret");
    fs::write(&path, "secret").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    let read = async |agent: &Agent| {
        let path = format!("/api/v1/files/{}", encoded(&path));
        within(agent.request(Method::GET, &path).send()).await.unwrap()
    };
    assert_eq!(read(&Agent::start()).await.status(), 200);
    let agent = Agent::with_args(&["--default-user", "nobody"]);
    let refused = read(&agent).await;
    assert_eq!(refused.status(), 403);
    assert!(message_of(refused).await.contains("Permission denied"));
    let [pid] = agent.worker_pids()[..] else { panic!("{:?}", agent.worker_pids()) };
    assert_eq!(status_of(pid, "Uid"), Some(65_534));
    // It is not dumpable (proc(5)): what is of a process of that user does not belong to it.
    assert_eq!(fs::metadata(format!("/proc/{pid}/mem")).unwrap().uid(), 0);
    let look = agent
        .run(&format!("cat /proc/{pid}/environ; ls /proc/{pid}/fd; ls /proc/{pid}/cwd/"))
        .await;
    assert_eq!(look.stdout(), "", "{}", look.output());
}
