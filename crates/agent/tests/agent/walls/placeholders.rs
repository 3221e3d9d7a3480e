//! What is made to be mounted on where a repository, or a part of one, is missing.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::{User, Walled, users, walls};
use crate::support::{Agent, children_of, lives, needs_root, output_of, program, until};

/// Under this there may be something to mount on also in a repository that is there.
const ARGS: [&str; 2] = ["--policy", r#"{ "extends": ["workspace", "commits"] }"#];

/// Ends with 0 where a command can write what git runs by itself.
const WRITES: &str = "mkdir -p .git/hooks && echo evil > .git/hooks/post-checkout || echo evil > .git/config || echo evil > .git/commondir";

/// What there is of a repository: nothing, or a part that lacks what is guarded.
const PARTS: [&[&str]; 2] = [&[], &[".git", ".git/objects"]];

/// Each user, with each of these.
fn each() -> impl Iterator<Item = (User, &'static [&'static str])> {
    users().iter().flat_map(|user| PARTS.map(|parts| (*user, parts)))
}

fn start(user: User, parts: &[&str]) -> Walled {
    let fill = |workspace: &Path, _: &Path| {
        for part in parts {
            fs::create_dir(workspace.join(part)).unwrap();
        }
    };
    Walled::start_with(user, &ARGS, fill, |_, _| {})
}

/// What is in a workspace, at any depth.
fn names(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = entries
        .flat_map(|path| {
            if path.is_dir() { [vec![path.clone()], names(&path)].concat() } else { vec![path] }
        })
        .collect();
    names.sort();
    names
}

async fn end(mut agent: Agent, signal: Signal) {
    agent.signal(signal);
    agent.signal(signal);
    agent.ended().await;
}

#[tokio::test]
async fn what_is_mounted_on_stays_as_long_as_any_agent_uses_it() {
    if !walls() {
        return;
    }
    for (user, parts) in each() {
        for signal in [Signal::SIGTERM, Signal::SIGKILL] {
            let walled = start(user, parts);
            let (second, third) = (walled.another(user, &ARGS), walled.another(user, &ARGS));
            let Walled { agent: first, workspace, home, directory } = walled;
            let _kept = (home, directory);
            let refuses = async |agent: &Agent, who: &str| {
                let run = agent.run(WRITES).await;
                assert_ne!(run.exit_code(), 0, "{user:?} {signal} {who}: {:?}", names(&workspace));
            };
            refuses(&first, "first").await;
            refuses(&second, "second").await;
            end(first, signal).await;
            refuses(&second, "second, after the first").await;
            end(second, Signal::SIGTERM).await;
            refuses(&third, "third, after the others").await;
            // The last one removes it, also where the first could not.
            end(third, Signal::SIGTERM).await;
            until("nothing is left", async || names(&workspace).len() == parts.len()).await;
        }
    }
}

#[tokio::test]
async fn a_box_that_follows_one_that_died_has_them_too() {
    if !walls() {
        return;
    }
    for (user, parts) in each() {
        let walled = start(user, parts);
        let before = names(&walled.workspace);
        for _ in 0..5 {
            let first = walled.agent.box_pid();
            let of_box: Vec<u32> = [first].into_iter().chain(children_of(first)).collect();
            kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
            until("the box is dead", async || !of_box.iter().any(|pid| lives(*pid))).await;
            assert_eq!(walled.agent.run("exit 5").await.exit_code(), 5);
            assert_ne!(walled.agent.run(WRITES).await.exit_code(), 0, "{user:?}");
            assert_eq!(names(&walled.workspace), before);
        }
    }
}

#[tokio::test]
async fn what_an_agent_has_left_that_was_killed_is_removed_by_the_next() {
    if !walls() {
        return;
    }
    for (user, parts) in each() {
        let walled = start(user, parts);
        let with = names(&walled.workspace);
        assert!(with.len() > parts.len());
        walled.agent.signal(Signal::SIGKILL);
        until("it is dead", async || children_of(walled.agent.pid()).is_empty()).await;
        assert_eq!(names(&walled.workspace), with);
        let next = walled.another(user, &ARGS);
        assert_ne!(next.run(WRITES).await.exit_code(), 0, "{user:?}");
        assert_eq!(names(&walled.workspace), with);
        end(next, Signal::SIGTERM).await;
        until("it is removed", async || names(&walled.workspace).len() == parts.len()).await;
    }
}

#[test]
fn an_agent_that_cant_say_that_it_is_ready_leaves_nothing() {
    if !walls() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let [workspace, state] = ["workspace", "state"].map(|name| directory.path().join(name));
    fs::create_dir(&workspace).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    // As where who has started it is dead.
    drop(reader);
    let mut command = Command::new(program());
    command.args(["--listen", "127.0.0.1:0"]).args(ARGS).arg("--state-dir").arg(state);
    command.arg("--workspace").arg(&workspace).stdin(Stdio::null()).stdout(writer);
    let output = output_of(command.stderr(Stdio::piped()).spawn().unwrap());
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("can't print the address"));
    assert_eq!(names(&workspace), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn where_commands_could_make_no_repository_nothing_is_made_to_be_mounted_on() {
    if !walls() || !needs_root("run an agent as another user than its workspace's") {
        return;
    }
    let Walled { agent, workspace, home, directory } = Walled::start_with(
        User::Ordinary,
        &["--policy", "workspace"],
        |_, _| {},
        |_, home| {
            let workspace = home.with_file_name("workspace");
            chown(workspace, Some(0), Some(0)).unwrap();
        },
    );
    let _kept = (home, directory);
    assert_eq!(agent.run("mkdir .git || exit 7").await.exit_code(), 7);
    assert_eq!(names(&workspace), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn what_is_the_users_own_stays_also_where_it_is_empty() {
    if !walls() {
        return;
    }
    for user in users() {
        let own = |workspace: &Path, _: &Path| {
            fs::create_dir_all(workspace.join(".git/hooks")).unwrap();
            fs::write(workspace.join(".git/config"), "").unwrap();
        };
        let Walled { agent, workspace, home, directory } =
            Walled::start_with(*user, &ARGS, own, |_, _| {});
        let _kept = (home, directory);
        assert_ne!(agent.run(WRITES).await.exit_code(), 0, "{user:?}");
        end(agent, Signal::SIGTERM).await;
        assert_eq!(names(&workspace).len(), 3, "{user:?}");
        let mode = fs::metadata(workspace.join(".git/hooks")).unwrap().permissions().mode();
        assert_eq!(mode & 0o1000, 0);
    }
}

#[tokio::test]
async fn a_repository_that_is_made_meanwhile_stays() {
    if !walls() {
        return;
    }
    for user in users() {
        let Walled { agent, workspace, home, directory } = start(*user, &[]);
        let _kept = (home, directory);
        agent.run("true").await;
        fs::create_dir(workspace.join(".git/hooks")).unwrap();
        assert_ne!(agent.run(WRITES).await.exit_code(), 0, "{user:?}");
        end(agent, Signal::SIGTERM).await;
        assert!(workspace.join(".git/hooks").exists());
    }
}

/// Runs git outside, and returns what it says.
fn git(workspace: &Path, args: &[&str]) -> String {
    // What a clone starts reads no other settings.
    let settings = tempfile::NamedTempFile::new().unwrap();
    fs::write(&settings, "[safe]\ndirectory = *\n[user]\nname = me\nemail = me@example\n").unwrap();
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", settings.path()).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = git.arg("-C").arg(workspace).args(args).output().unwrap();
    let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{args:?}: {text:?}");
    text.concat()
}

const LOOKS: [&[&str]; 6] = [
    &["status"],
    &["worktree", "list"],
    &["config", "--list", "--local"],
    &["branch", "--all", "--verbose"],
    &["fsck"],
    &["-C", "bare", "rev-parse", "--is-bare-repository"],
];

#[tokio::test]
async fn git_outside_works_as_before_while_commands_may_commit() {
    if !walls() {
        return;
    }
    for user in users() {
        let fill = |workspace: &Path, _: &Path| {
            git(workspace, &["init", "-q"]);
            git(workspace, &["commit", "-q", "--allow-empty", "-m", "first"]);
            git(workspace, &["worktree", "add", "-q", "tree"]);
            git(workspace, &["clone", "-q", "--bare", ".", "bare/.git"]);
        };
        let Walled { agent, workspace, home, directory } =
            Walled::start_with(*user, &ARGS, fill, |_, _| {});
        let _kept = (home, directory);
        let looks = || LOOKS.map(|args| git(&workspace, args));
        assert_ne!(agent.run(WRITES).await.exit_code(), 0, "{user:?}");
        let git_dir = workspace.join(".git");
        assert_eq!(fs::read(git_dir.join("commondir")).unwrap(), b".\n", "{user:?}");
        // That git would take for one with a working tree.
        assert!(!workspace.join("bare/.git/commondir").exists(), "{user:?}");
        let meanwhile = looks();
        git(&workspace, &["clone", "-q", ".", "clone"]);
        git(&workspace, &["gc", "-q"]);
        git(&workspace, &["commit", "-q", "--allow-empty", "-m", "second"]);
        git(&workspace, &["reset", "-q", "--hard", "HEAD~"]);
        fs::remove_dir_all(workspace.join("clone")).unwrap();
        end(agent, Signal::SIGTERM).await;
        until("nothing is left", async || {
            let is_left = |path: &PathBuf| path.ends_with(".git/commondir");
            !names(&workspace).iter().any(is_left)
        })
        .await;
        assert!(!git_dir.join("config.worktree").exists(), "{user:?}");
        assert_eq!(looks(), meanwhile, "{user:?}");
    }
}
