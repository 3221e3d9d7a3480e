//! Which places rules mean, what is told about them, and the command line of bubblewrap: as the file system is, without walls.

// A test fails by panicking.
#![allow(clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::unwrap_used)]

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use sandpipe_policy::{
    document::parse,
    effective::{Effective, effective},
    explain::{explain_destination, explain_path},
    files::{Access, InvalidPlaces, Places, Roots, expand},
    machine::Version,
    network::Destination,
    walls::{Box, Content, Replacement, plan},
};
use tempfile::TempDir;

#[path = "support/needs.rs"]
mod needs;
#[path = "support/visible.rs"]
mod visible;

use visible::{NO_VISIBLE_DIRECTORY, visible_directory};

struct Machine {
    root: PathBuf,
    _directory: TempDir,
}

impl Machine {
    /// One with these files; `/` at the end of a name makes a directory. Where there can be none the test says so.
    fn new(files: &[&str]) -> Option<Self> {
        let directory = visible_directory();
        needs::needs(directory.is_some(), NO_VISIBLE_DIRECTORY);
        let directory = directory?;
        let root = directory.path().canonicalize().unwrap();
        for file in ["home/", "workspace/"].iter().chain(files) {
            let path = root.join(file);
            if file.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        Some(Self { root, _directory: directory })
    }

    fn link(self, link: &str, target: &str) -> Self {
        symlink(self.root.join(target), self.root.join(link)).unwrap();
        self
    }

    fn roots(&self) -> Roots {
        Roots {
            workspace: self.root.join("workspace"),
            homes: vec![self.root.join("home")],
            protected: vec![self.root.join("state")],
            homes_of_others: Vec::new(),
            secrets: Vec::new(),
            policy_file: None,
            stores: None,
            pnpm_store: None,
        }
    }

    fn expand(&self, policy: &str) -> Result<(Effective, Places), InvalidPlaces> {
        let policy = effective(&parse(policy).unwrap()).unwrap();
        let places = expand(&policy.files, &self.roots())?;
        Ok((policy, places))
    }

    fn access(&self, policy: &str, path: &str) -> Access {
        self.expand(policy).unwrap().1.access(&self.root.join(path))
    }

    /// The message of an error, with the root as `~~`.
    fn error(&self, policy: &str) -> String {
        self.shown(&self.expand(policy).unwrap_err().to_string())
    }

    fn shown(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "~~")
    }
}

#[test]
fn wildcards_mean_what_is_there() {
    let Some(machine) = Machine::new(&[
        "workspace/.env",
        "workspace/a/b/.env",
        "workspace/a/x.pem",
        "workspace/x.pem",
    ]) else {
        return;
    };
    let policy = r#"{ "files": { "hide": ["**/.env", "./*.pem", "none/*/x"], "read": ["a/*"] } }"#;
    for (path, access) in [
        ("workspace/.env", Access::Hide),
        ("workspace/a/b/.env", Access::Hide),
        ("workspace/a/b/other", Access::Read),
        ("workspace/a/x.pem", Access::Read),
        ("workspace/x.pem", Access::Hide),
        ("workspace/new/.env", Access::Write),
    ] {
        assert_eq!(machine.access(policy, path), access, "{path}");
    }
}

#[test]
fn tool_settings_are_read_only_and_open_nothing() {
    let Some(machine) = Machine::new(&[
        "home/.ssh/keys/",
        "workspace/.npmrc",
        "workspace/a/b/c/.vscode/",
        "workspace/a/b/c/d/.vscode/",
        "workspace/node_modules/a/.vscode/",
        "home/other/a/.envrc",
        "workspace/shared/",
    ]) else {
        return;
    };
    let machine = machine
        .link("workspace/.claude", "home/.ssh/keys")
        .link("workspace/.cursor", "workspace/shared")
        .link("workspace/.idea", "workspace/nowhere");
    let policy = r#"{ "files": { "write": ["~/other"] } }"#;
    for (path, access) in [
        ("workspace/.npmrc", Access::Read),
        ("workspace/a/b/c/.vscode", Access::Read),
        ("workspace/a/b/c/d/.vscode", Access::Write),
        ("workspace/node_modules/a/.vscode", Access::Write),
        ("home/other/a/.envrc", Access::Read),
        ("home/.ssh/keys", Access::Hide),
        ("workspace/shared", Access::Read),
        ("workspace/.mcp.json", Access::Write),
    ] {
        assert_eq!(machine.access(policy, path), access, "{path}");
    }
    let without = r#"{ "extends": ["workspace", "!tool-settings"] }"#;
    assert_eq!(machine.access(without, "workspace/.npmrc"), Access::Write);
    let (_, places) = machine.expand("{}").unwrap();
    let explained = |path: &str| {
        let path = machine.root.join(path);
        machine.shown(&explain_path(&places, &path).unwrap())
    };
    assert_eq!(
        explained("workspace/.npmrc"),
        "~~/workspace/.npmrc: read, by the rule: read .npmrc (preset tool-settings)"
    );
    assert!(explained("workspace/.mcp.json").ends_with(
        "; where it is there when a box starts, by the rule: read .mcp.json (preset tool-settings)"
    ));
}

#[test]
fn a_path_that_does_not_exist_is_an_error_that_names_it() {
    let Some(machine) = Machine::new(&["workspace/file"]) else { return };
    assert_eq!(
        machine.error(r#"{ "files": { "write": ["./dist"] } }"#),
        "write ./dist (policy): there is no ~~/workspace/dist: make it, or take the rule out"
    );
    assert!(
        machine
            .error(r#"{ "files": { "hide": ["file/x"] } }"#)
            .contains("there is no ~~/workspace/file/x")
    );
    assert!(machine.error(r#"{ "files": { "read": ["/proc/cpuinfo"] } }"#).contains("made anew"));
    assert!(machine.error(r#"{ "files": { "read": ["/dev/null"] } }"#).contains("made anew"));
    assert!(machine.expand(r#"{ "files": { "write": ["/dev/null"] } }"#).is_ok());
}

#[test]
fn a_link_that_commands_could_make_leads_nowhere_else() {
    let Some(machine) =
        Machine::new(&["home/.ssh/id", "outside/", "workspace/real/", "workspace/other/"])
    else {
        return;
    };
    let machine = machine
        .link("workspace/dist", "home/.ssh")
        .link("workspace/inner", "workspace/real")
        .link("home/shared", "outside")
        .link("home/through", "workspace/dist");
    let error =
        "the symbolic link ~~/workspace/dist, which a command could change, leads to ~~/home/.ssh";
    for policy in [
        r#"{ "files": { "write": ["./dist"] } }"#,
        r#"{ "files": { "read": ["./dist"] } }"#,
        r#"{ "files": { "write": ["~/through"] } }"#,
        r#"{ "extends": ["strict"], "files": { "write": ["./dist"] } }"#,
    ] {
        assert!(machine.error(policy).contains(error), "{policy}: {}", machine.error(policy));
    }
    assert!(
        machine.error(r#"{ "files": { "read": ["./inner"] } }"#).contains("~~/workspace/inner")
    );
    assert_eq!(
        machine.access(r#"{ "files": { "write": ["./inner"] } }"#, "workspace/real"),
        Access::Write
    );
    assert_eq!(
        machine.access(r#"{ "files": { "write": ["~/shared"] } }"#, "outside/x"),
        Access::Write
    );
    assert_eq!(
        machine.access(r#"{ "files": { "hide": ["./dist", "~/shared"] } }"#, "outside/x"),
        Access::Hide
    );
    for policy in ["{}", r#"{ "files": { "write": ["./d*"] } }"#] {
        assert_eq!(machine.access(policy, "home/.ssh/id"), Access::Hide);
    }
}

#[test]
fn what_is_hidden_depends_on_no_link_that_commands_could_change() {
    let Some(machine) = Machine::new(&["outside/key", "workspace/a/", "workspace/.env.local"])
    else {
        return;
    };
    let machine = machine
        .link("workspace/key", "outside/key")
        .link("workspace/.env", "workspace/.env.local")
        .link("home/key", "outside/key");
    for (policy, link) in [
        (r#"{ "files": { "hide": ["./key"] } }"#, "key"),
        (r#"{ "files": { "hide": ["**/.env"] } }"#, ".env"),
        (r#"{ "extends": ["strict"], "files": { "hide": ["./k*"] } }"#, ""),
    ] {
        let error = format!("the symbolic link ~~/workspace/{link}, which a command could change");
        let result = machine.expand(policy).err().map(|error| machine.shown(&error.to_string()));
        assert_eq!(
            result.is_some_and(|found| found.contains(&error)),
            !link.is_empty(),
            "{policy}"
        );
    }
    for policy in [
        r#"{ "files": { "hide": ["./key", "~/../outside/key"] } }"#,
        r#"{ "files": { "hide": ["**/.env", ".env.local"] } }"#,
        r#"{ "files": { "hide": ["~/key"] } }"#,
    ] {
        let policy = policy.replace("~/..", machine.root.to_str().unwrap());
        assert!(machine.expand(&policy).is_ok(), "{policy}");
    }
}

#[test]
fn git_that_is_led_to_by_a_link_is_an_error() {
    let Some(machine) = Machine::new(&["repository/config", "repository/hooks/"]) else { return };
    let machine = machine.link("workspace/.git", "repository");
    assert!(
        machine
            .error("{}")
            .starts_with("read ./.git (preset git): the symbolic link ~~/workspace/.git")
    );
    assert!(machine.expand(r#"{ "extends": ["workspace", "!git"] }"#).is_ok());
    let Some(machine) = Machine::new(&[]) else { return };
    let machine = machine.link("workspace/.git", "nowhere");
    assert!(machine.error("{}").contains("the symbolic link ~~/workspace/.git"));
}

#[test]
fn repositories_are_read_only_wherever_the_policy_lets_commands_write() {
    let Some(machine) = Machine::new(&[
        "home/other/a/.git/hooks/",
        "home/other/.git/config",
        "home/file",
        "home/beside/.git/",
        "workspace/private/.git/config",
        "home/other/private/.git/config",
        "home/.cargo/registry/index/.git/config",
    ]) else {
        return;
    };
    let policy = r#"{ "extends": EXTENDS, "files": { "write": ["~/other/", "~/.cargo", "~/file"], "hide": ["./private", "~/other/private"] } }"#;
    let access = |extends, path| machine.access(&policy.replace("EXTENDS", extends), path);
    for (path, git, commits, neither) in [
        ("home/other/new", Access::Write, Access::Write, Access::Write),
        ("home/file", Access::Write, Access::Write, Access::Write),
        ("home/other/.git", Access::Read, Access::Write, Access::Write),
        ("home/other/.git/config", Access::Read, Access::Read, Access::Write),
        ("home/other/a/.git/hooks", Access::Read, Access::Read, Access::Write),
        ("home/beside/.git", Access::Read, Access::Read, Access::Read),
        ("home/.cargo/registry/index/.git/config", Access::Write, Access::Write, Access::Write),
        // What is hidden stays so.
        ("workspace/private/.git/config", Access::Hide, Access::Hide, Access::Hide),
        ("home/other/private/.git/config", Access::Hide, Access::Hide, Access::Hide),
    ] {
        assert_eq!(access(r#"["offline"]"#, path), git, "{path}");
        assert_eq!(access(r#"["offline", "commits"]"#, path), commits, "{path}");
        assert_eq!(access(r#"["offline", "!git"]"#, path), neither, "{path}");
    }
    // The workspace may only be read there, other places are as they are elsewhere.
    assert_eq!(access(r#"["strict"]"#, "home/other/a/.git/hooks"), Access::Read);
    assert_eq!(access(r#"["strict"]"#, "home/other/new"), Access::Write);
    let (_, places) = machine.expand(&policy.replace("EXTENDS", r#"["workspace"]"#)).unwrap();
    let told = explain_path(&places, &machine.root.join("home/other/a/.git/x")).unwrap();
    assert!(told.ends_with("read, by the rule: read ~/other/*/.git (preset git)"), "{told}");
}

#[test]
fn a_wildcard_lets_nothing_be_written_that_a_link_leads_to() {
    let Some(machine) = Machine::new(&["home/projects/a/", "elsewhere/.git/hooks/"]) else {
        return;
    };
    let machine = machine.link("home/projects/b", "elsewhere");
    let policy = r#"{ "files": { "write": ["~/projects/*"] } }"#;
    assert_eq!(machine.access(policy, "home/projects/a"), Access::Write);
    assert_eq!(machine.access(policy, "elsewhere/.git/hooks"), Access::Read);
    // Named, it is meant, with its repository.
    let policy = r#"{ "files": { "write": ["~/projects/b"] } }"#;
    assert_eq!(machine.access(policy, "elsewhere/new"), Access::Write);
    assert_eq!(machine.access(policy, "elsewhere/.git/hooks"), Access::Read);
}

#[test]
fn a_workspace_that_holds_the_home_is_refused() {
    let Some(machine) = Machine::new(&[]) else { return };
    let refused = |policy: &str, workspace: &str| {
        let roots = Roots { workspace: machine.root.join(workspace), ..machine.roots() };
        let policy = effective(&parse(policy).unwrap()).unwrap();
        expand(&policy.files, &roots).err().map(|error| machine.shown(&error.to_string()))
    };
    for workspace in ["home", "", "/"] {
        assert!(
            refused("{}", workspace).unwrap().contains("choose a directory in it"),
            "{workspace}"
        );
    }
    assert_eq!(refused(r#"{ "extends": ["strict"] }"#, "home"), None);
    assert!(refused("{}", "state/x").is_some());
}

#[test]
fn what_the_agent_keeps_to_itself_no_rule_opens() {
    let Some(machine) = Machine::new(&["state/execs/1", "workspace/a"]) else { return };
    assert_eq!(machine.access("{}", "state/execs/1"), Access::Hide);
    assert_eq!(machine.access(r#"{ "extends": ["open"] }"#, "state/execs/1"), Access::Hide);
    for policy in [
        r#"{ "files": { "write": ["../state/execs"] } }"#,
        r#"{ "files": { "read": ["../state/execs/1"] } }"#,
    ] {
        assert!(machine.error(policy).contains("is in what the agent keeps to itself"));
    }
}

#[test]
fn the_rule_that_decides_is_told() {
    let Some(machine) = Machine::new(&["workspace/.env", "home/.ssh/id"]) else { return };
    let (policy, places) = machine
        .expand(r#"{ "files": { "hide": ["**/.env"] }, "network": { "allow": ["*.example.org:443", "::1"] } }"#)
        .unwrap();
    let path =
        |path: &str| machine.shown(&explain_path(&places, &machine.root.join(path)).unwrap());
    assert_eq!(
        path("workspace/new/file"),
        "~~/workspace/new/file: write, by the rule: write ./ (preset workspace)"
    );
    assert_eq!(
        path("workspace/.env"),
        "~~/workspace/.env: hide, by the rule: hide **/.env (policy)"
    );
    assert_eq!(
        path("home/.ssh/id"),
        "~~/home/.ssh/id: hide, by the rule: hide ~/.ssh (preset secrets)"
    );
    assert_eq!(path("/etc/passwd"), "/etc/passwd: read, by the rule: read / (preset system)");
    assert_eq!(
        path("/tmp/x"),
        "/tmp/x: private (a directory of the commands' own), by the rule: private /tmp (preset system)"
    );
    assert!(path("/proc/1/environ").contains("made anew"));
    assert_eq!(
        path("home/.aws/x"),
        "~~/home/.aws/x: read, by the rule: read / (preset system); where it is there when a box starts, by the rule: hide ~/.aws (preset secrets)"
    );
    let host = |text: &str| explain_destination(&policy, &Destination::parse(text).unwrap());
    assert_eq!(
        host("a.example.org:443"),
        "a.example.org:443: reached, by the rule: network.allow *.example.org:443"
    );
    assert_eq!(
        host("a.example.org:80"),
        "a.example.org:80: refused: no rule of the policy's network.allow names a.example.org:80"
    );
    assert_eq!(host("[::1]:1"), "[::1]:1: reached, by the rule: network.allow [::1]");
}

#[test]
fn bubblewrap_gets_what_the_rules_say() {
    let Some(machine) = Machine::new(&[
        "workspace/a/b/keep",
        "workspace/.env",
        "workspace/hidden/open/",
        "shared/",
    ]) else {
        return;
    };
    let (policy, places) = machine
        .expand(r#"{ "extends": [], "files": { "read": ["../shared", "./a/b/keep"], "write": ["./", "./hidden/open"], "hide": ["./.env", "./hidden"] } }"#)
        .unwrap();
    let inside = |is_root| Box {
        args: vec!["box".into()],
        workspace: machine.root.join("workspace"),
        is_root,
        bubblewrap: Version(0, 5, 0),
        checks_places: false,
    };
    let planned = plan(&policy, &places, &inside(false), Vec::new()).unwrap();
    let args = planned.args(|index| 7 + i32::try_from(index).unwrap());
    let args: Vec<_> = args.iter().map(|arg| arg.to_str().unwrap()).collect();
    let proc = "sys sysrq-trigger irq bus fs acpi scsi mtrr driver asound".split(' ');
    let proc: Vec<_> =
        proc.map(|name| format!("--ro-bind-try /proc/{name} /proc/{name}")).collect();
    let expected = format!(
        "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-net \
         --as-pid-1 --die-with-parent --new-session --clearenv --cap-drop ALL --dev /dev \
         --perms 1777 --tmpfs /dev/shm --proc /proc {} \
         --ro-bind ~~/shared ~~/shared --bind ~~/workspace ~~/workspace --ro-bind /dev/null ~~/workspace/.env \
         --bind ~~/workspace/a ~~/workspace/a --bind ~~/workspace/a/b ~~/workspace/a/b \
         --ro-bind ~~/workspace/a/b/keep ~~/workspace/a/b/keep \
         --tmpfs ~~/workspace/hidden --bind ~~/workspace/hidden/open ~~/workspace/hidden/open \
         --remount-ro ~~/workspace/hidden --remount-ro /dev \
         --remount-ro / \
         --seccomp 7 --chdir ~~/workspace -- /proc/self/fd/8 box",
        proc.join(" ")
    );
    assert_eq!(machine.shown(&args.join(" ")), expected);
    let [Content::Seccomp(filter), Content::Program] = &planned.inherited[..] else {
        panic!("{:?}", planned.inherited);
    };
    assert_eq!(filter.len() % 8, 0);
    let copies = ["shared/a", "workspace/a/x", "workspace/.env"]
        .map(|path| Replacement::File(machine.root.join(path), b"copy".to_vec()));
    let planned = plan(&policy, &places, &inside(false), copies.to_vec()).unwrap();
    let args = planned.args(|_| 7).join(" ".as_ref()).into_string().unwrap();
    // Only what commands may read, and not write, is replaced.
    assert_eq!(args.matches("--ro-bind-data").count(), 1);
    let copy = "--perms 0444 --ro-bind-data 7 ~~/shared/a ";
    assert!(machine.shown(&args).contains(copy), "{args}");
    let root = plan(&policy, &places, &inside(true), Vec::new()).unwrap().args(|_| 7);
    assert!(!root.contains(&"--unshare-user".into()) && root.contains(&"CAP_SETUID".into()));
    let (policy, places) = machine.expand(r#"{ "extends": [] }"#).unwrap();
    let error = plan(&policy, &places, &inside(false), Vec::new()).unwrap_err().to_string();
    assert!(error.starts_with("the policy gives commands nothing of the workspace"), "{error}");
}

#[test]
fn what_is_in_memory_is_limited_as_memory_where_bubblewrap_can() {
    let Some(machine) = Machine::new(&["workspace/"]) else { return };
    let planned = |policy: &str, bubblewrap| {
        let (policy, places) = machine.expand(policy).unwrap();
        let inside = Box {
            args: Vec::new(),
            workspace: machine.root.join("workspace"),
            is_root: true,
            bubblewrap,
            checks_places: false,
        };
        let args = plan(&policy, &places, &inside, Vec::new()).unwrap().args(|_| 7);
        args.join(" ".as_ref()).into_string().unwrap()
    };
    let limited = r#"{ "limits": { "memory": "1 MiB" } }"#;
    assert!(
        planned(limited, Version(0, 7, 0)).contains("--size 1048576 --perms 1777 --tmpfs /tmp ")
    );
    assert!(planned(limited, Version(0, 6, 2)).contains("--perms 1777 --tmpfs /tmp "));
    assert!(!planned(limited, Version(0, 6, 2)).contains("--size"));
    assert!(!planned("{}", Version(0, 8, 0)).contains("--size"));
}
