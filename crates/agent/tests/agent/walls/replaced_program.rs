//! An agent whose program lies where its commands can write, as npm puts it into the workspace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::json;

use super::{User, Walled, attempts::Outcome, planted_program::search_first, users, walls};
use crate::support::{children_of, lives, run_by, set_mode, until};

/// The path at which npm puts the agent's program.
const PROGRAM: &str = "workspace/node_modules/@sandpipe/agent/sandpipe-agent";
/// The file that a planted program makes when it runs.
const RAN: &str = "workspace/ran";

/// Starts an agent whose program is in its workspace.
fn start(user: User, args: &[&str], bubblewrap: Option<&str>) -> Walled {
    let fill = |workspace: &Path, home: &Path| {
        let program = workspace.with_file_name(PROGRAM);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        fs::copy(crate::support::program(), &program).unwrap();
        fs::create_dir(home.join(".npm")).unwrap();
        let planted = workspace.join("planted");
        let ran = workspace.with_file_name(RAN);
        fs::write(&planted, format!("#!/bin/sh\n: > '{}'\n", ran.display())).unwrap();
        set_mode(&planted, 0o755);
        if let Some(script) = bubblewrap {
            let root = home.parent().unwrap().to_str().unwrap();
            let script = script.replace("ROOT", root).replace("PROGRAM", PROGRAM);
            fs::write(home.join("bwrap"), script).unwrap();
            set_mode(&home.join("bwrap"), 0o755);
        }
    };
    Walled::start_with(user, args, fill, |command, home| {
        search_first(command, home);
        let script = r#"program=$0; shift 2; exec "$program" "$@""#;
        run_by(command, &["sh", "-c", script, home.with_file_name(PROGRAM).to_str().unwrap()]);
    })
}

/// Kills the box of an agent, and waits for the end of all that is around it.
async fn kill_box(walled: &Walled) {
    let first = walled.agent.box_pid();
    let of_box: Vec<u32> = [first].into_iter().chain(children_of(first)).collect();
    kill(Pid::from_raw(first.cast_signed()), Signal::SIGKILL).unwrap();
    until("the box is dead", async || !of_box.iter().any(|pid| lives(*pid))).await;
}

/// The rows of the table of attempts in which a command rewrites what runs or will run outside.
pub(super) async fn attempts(user: User, policy: &str) -> Vec<(String, Outcome)> {
    let walled = start(user, &["--policy", policy], None);
    let root = walled.home.parent().unwrap();
    walled.agent.run(&format!("cp planted p && mv p '{}'", root.join(PROGRAM).display())).await;
    walled.agent.run("mkdir -p ~/.npm/_npx && : > ~/.npm/_npx/planted").await;
    kill_box(&walled).await;
    assert_eq!(walled.agent.run("exit 4").await.exit_code(), 4);
    let becomes_box = Outcome::of(root.join(RAN).exists());
    let is_of_npx = Outcome::of(walled.home.join(".npm/_npx/planted").exists());
    [
        ("become the box by replacing the agent's program", becomes_box),
        ("put a program into `~/.npm/_npx`, which npx runs", is_of_npx),
    ]
    .map(|(name, outcome)| (name.to_owned(), outcome))
    .into()
}

#[tokio::test]
async fn an_agent_starts_what_runs_although_its_file_is_replaced_while_a_box_is_built() {
    if !walls() {
        return;
    }
    // Stands for bubblewrap, and replaces the agent's program between the plan of the walls and their building.
    let bubblewrap = "#!/bin/sh\ncase \"$*\" in *--chdir*)
        ( cd 'ROOT' && [ ! -e armed ] || { rm armed && mv workspace/planted 'PROGRAM'; } ) ;;
        esac\nexec bwrap \"$@\"\n";
    for user in users() {
        let walled = start(*user, &["--policy", "workspace"], Some(bubblewrap));
        let root = walled.home.parent().unwrap();
        fs::write(root.join("armed"), "").unwrap();
        kill_box(&walled).await;
        assert_eq!(walled.agent.run("exit 5").await.exit_code(), 5, "{user:?}");
        assert!(!root.join("armed").exists());
        assert!(fs::read(root.join(PROGRAM)).unwrap().starts_with(b"#!"));
        assert!(!root.join(RAN).exists(), "{user:?}");
    }
}

#[tokio::test]
async fn an_agent_whose_program_is_replaced_or_removed_starts_boxes_of_the_one_that_runs() {
    if !walls() {
        return;
    }
    for (user, is_replaced) in users().iter().flat_map(|user| [(*user, true), (*user, false)]) {
        let walled = start(user, &["--policy", "workspace"], None);
        let agent = &walled.agent;
        let runs = agent.sh("exec sleep 600").await;
        let own_box = agent.box_pid();
        let program: PathBuf = walled.home.with_file_name(PROGRAM);
        let changed = if is_replaced {
            agent.run(&format!("mv planted '{}'", program.display())).await
        } else {
            agent.run(&format!("rm '{}'", program.display())).await
        };
        assert_eq!(changed.exit_code(), 0, "{}", changed.output());
        let narrower = json!({ "command": "sh", "args": ["-c", "exit 4"], "policy": "offline" });
        let exec = agent.create(narrower).await;
        assert_eq!(agent.finish(&exec.id).await.exit_code(), 4);
        kill(Pid::from_raw(own_box.cast_signed()), Signal::SIGKILL).unwrap();
        // With that the agent knows.
        let events = agent.finish(&runs.id).await.0;
        assert!(events.iter().all(|event| event.exit_code.is_none()));
        assert_eq!(agent.run("exit 5").await.exit_code(), 5);
        assert!(!walled.home.with_file_name(RAN).exists());
    }
}
